//go:build e2e

package e2e

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/hack/project"
	"github.com/example/memcached-operator/olm/e2e/kills"
	"github.com/example/memcached-operator/olm/walk"
	cachev1alpha1 "github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

const (
	// chaosSource is the name of the CatalogSource that has the releases.
	chaosSource = "memcached-operator-chaos"
	// An upgrade that has begun during the kills may end this long after them. OLM and the kubelet wait longer each time that something fails.
	upgradePatience = 12 * time.Minute
	// When the last upgrade has ended, all is as it should be within this time.
	convergence = 8 * time.Minute
)

// Parts of the operator and of the cluster are killed at random while OLM upgrades the operator again and again. Then the newest release that
// was approved is installed, and caches have what it brings. Only pods whose node lost its power have lost items, and no other pod was
// replaced, restarted for another reason than an update that keeps its items, or did not answer otherwise.
//
// CHAOS is how long parts are killed, three minutes by default, and CHAOS_SEED chooses which ones and when. Without CHAOS_SEED, each run has
// another one.
//
// It kills parts that all other tests need, so it never runs beside one: it is no subtest of TestInstalledOperator, and ends when all parts
// are back and all pods are ready.
func TestChaosDuringUpgrades(t *testing.T) {
	onlyLocal(t)
	duration, seed := chaosAsked(t)
	ctx := withoutOperator(t)
	// An upgrade takes half a minute where nothing is killed.
	releases, catalog := chaosReleases(ctx, t, int(duration/(30*time.Second))+1)
	plan := kills.Plan(seed, duration, nodeNames(t))
	choose(ctx, t, walk.Choice{Version: suite.version, Channel: "candidate"})
	must(t, suite.cluster.AddCatalog(ctx, chaosSource, catalog))
	caches := createChaosCaches(t)
	used := usePods(t, append(slices.Collect(maps.Keys(caches)), "served")...)
	used.allUsed(time.Minute)
	must(t, suite.cluster.SetSource(ctx, chaosSource))
	_, err := suite.cluster.WaitPlan(ctx, releases[0].version, 3*time.Minute)
	must(t, err)

	t.Cleanup(func() {
		ctx := context.Background()
		unpackAgain(ctx, t)
		settle(ctx, t)
	})
	k := startKills(t, plan, used.losePower)
	done := upgradeMeanwhile(ctx, t, releases, k.begun.Add(duration))
	k.ended.Wait()
	if len(done) == 0 {
		t.Fatal("no upgrade was approved while parts were killed")
	}
	start := time.Now()
	last := done[len(done)-1]
	must(t, suite.cluster.WaitOnly(ctx, last.version, convergence))
	for name, size := range caches {
		waitUpToDate(ctx, t, name, size, last, convergence-time.Since(start))
	}
	waitReady(t, "default", "served")
	used.allUsed(time.Minute)
	t.Logf("all was as it should be %s after the last kill and the last upgrade", time.Since(start).Round(time.Second))

	all := used.finish()
	t.Logf("%d upgrades, to %s; %d kills: %s\n%s", len(done), last.version, sum(k.kills), list(k.kills), usedTable(t, all))
	agents, memcacheds := updates(done)
	for _, pod := range all {
		most := map[string]int{"agent": agents}
		if pod.owner == warmCache {
			most["memcached"] = memcacheds
		}
		pod.keptItems(t)
		pod.restartedOnlyFor(t, most)
		pod.answered(t)
	}
	oneAtATime(t, all, warmCache)
}

// unpackAgain deletes the pods in which OLM unpacks bundles and that have not ended. The kubelet starts no container again in such a pod whose
// node has lost its power, because the pod never restarts, and its Job takes it for one that will run (Kubernetes 1.36). OLM would give up
// after ten minutes. The Job creates another pod.
func unpackAgain(ctx context.Context, t *testing.T) {
	t.Helper()
	var unpacking corev1.PodList
	must(t, suite.cluster.Client.List(ctx, &unpacking, client.InNamespace(walk.Namespace), client.HasLabels{"operatorframework.io/bundle-unpack-ref"}))
	for i := range unpacking.Items {
		if pod := &unpacking.Items[i]; pod.Status.Phase == corev1.PodPending {
			t.Logf("%s on %s has not ended: deleted", pod.Name, pod.Spec.NodeName)
			must(t, client.IgnoreNotFound(suite.cluster.Client.Delete(ctx, pod)))
		}
	}
}

// chaosAsked returns how long parts are killed, and the seed. It prints how to repeat the run, once more if the test fails.
func chaosAsked(t *testing.T) (duration time.Duration, seed uint64) {
	t.Helper()
	duration, err := time.ParseDuration(cmp.Or(os.Getenv("CHAOS"), "3m"))
	must(t, err)
	seed, err = strconv.ParseUint(cmp.Or(os.Getenv("CHAOS_SEED"), strconv.FormatUint(uint64(rand.Uint32()), 10)), 10, 64)
	must(t, err)
	replay := fmt.Sprintf("the same kills at the same times again: make chaos CHAOS=%s CHAOS_SEED=%d", duration, seed)
	t.Log(replay)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(replay)
		}
	})
	return duration, seed
}

// warmCache is the cache that gets another memcached as soon as a release brings it.
const warmCache = "warm"

// createChaosCaches creates caches, and an Application named served. It returns the sizes of the caches by name.
func createChaosCaches(t *testing.T) map[string]int32 {
	t.Helper()
	makeApplication(t, "default", "served", webSpec("docker.io/nginxinc/nginx-unprivileged:1.29-alpine", `,"replicas":2`))
	sizes := map[string]int32{}
	for _, cache := range []struct {
		name, spec string
		size       int32
	}{
		{warmCache, "workload: StatefulSet\nwarmRestart: true\ndisruption: {}", 3},
		{"stateful", "workload: StatefulSet", 2},
		{"plain", "workload: Deployment", 2},
	} {
		produce(t, cache.name, cache.size, cache.spec)
		sizes[cache.name] = cache.size
	}
	waitReady(t, "default", "served")
	return sizes
}

// upgradeMeanwhile approves one release after the other until the end, each when the one before is installed. It returns those that it has
// approved.
func upgradeMeanwhile(ctx context.Context, t *testing.T, releases []chaosRelease, end time.Time) (done []chaosRelease) {
	t.Helper()
	for _, release := range releases {
		start := time.Now()
		if !start.Before(end) {
			return done
		}
		plan, err := suite.cluster.WaitPlan(ctx, release.version, time.Until(end))
		if err != nil {
			t.Logf("%s was not offered before the kills ended: %v", release.version, err)
			return done
		}
		offered := time.Since(start)
		left := func() time.Duration { return time.Until(end.Add(upgradePatience)) }
		must(t, walk.Within(ctx, left(), "the approval of "+release.version, func(ctx context.Context) error {
			return suite.cluster.Approve(ctx, plan)
		}))
		must(t, suite.cluster.WaitOnly(ctx, release.version, left()))
		t.Logf("upgrade to %s: OLM offered it after %s, and installed it within %s", release.version, offered.Round(time.Second), (time.Since(start) - offered).Round(time.Second))
		done = append(done, release)
	}
	return done
}

// updates returns how many of the upgrades brought another agent, and how many another memcached.
func updates(done []chaosRelease) (agents, memcacheds int) {
	before := project.DefaultOperand
	for _, release := range done {
		if release.memcached != before {
			memcacheds++
		}
		before = release.memcached
	}
	return len(done), memcacheds
}

// waitUpToDate waits until a cache is ready, and its pods have what the release brings without a loss of items.
func waitUpToDate(ctx context.Context, t *testing.T, name string, size int32, release chaosRelease, d time.Duration) {
	t.Helper()
	must(t, walk.Within(ctx, d, "cache "+name+" to have what "+release.version+" brings", func(ctx context.Context) error {
		var cache cachev1alpha1.Memcached
		if err := suite.cluster.Client.Get(ctx, inDefault(name), &cache); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(cache.Status.Conditions, cachev1alpha1.ConditionReady)
		if ready == nil || ready.Status != "True" || ready.ObservedGeneration != cache.Generation || len(cache.Status.Endpoints) != int(size) {
			return fmt.Errorf("%d endpoints, and Ready is %+v", len(cache.Status.Endpoints), ready)
		}
		for _, endpoint := range cache.Status.Endpoints {
			if name == warmCache && endpoint.Version != release.memcached {
				return fmt.Errorf("%s runs memcached %q", endpoint.Pod, endpoint.Version)
			}
		}
		return haveAgent(ctx, inDefault(name), release.agent)
	}))
}

func sum(counts map[string]int) (n int) {
	for _, count := range counts {
		n += count
	}
	return n
}

// list returns for example "2 etcd, 1 node-0".
func list(counts map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[name], name))
	}
	return strings.Join(parts, ", ")
}
