//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/blang/semver/v4"
	appsv1 "k8s.io/api/apps/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/olm/e2e/clients"
	"github.com/example/memcached-operator/olm/walk"
)

// The way back from 0.3.0 to 0.2.0 does to caches what olm/README.md says: those of 0.2.0 stay untouched, others lose their
// fields and their items.
func TestWayBackFromProductionCaches(t *testing.T) {
	const old, newer = "0.2.0", "0.3.0"
	onlyLocal(t)
	path := oneByOne(t)
	ts := newTenants(t, "way-back")
	ctx := withoutOperator(t)
	choose(ctx, t, walk.Choice{Version: old, Channel: path.Install, Source: path.source, Catalog: path.catalog})
	ts.create(semver.MustParse(old))
	ts.waitReady()
	approve(ctx, t, newer)
	must(t, suite.cluster.WaitOnly(ctx, newer, 3*time.Minute))
	ts.create(semver.MustParse(newer))
	caches := map[string]*filledCache{}
	for _, cache := range ts.fill() {
		caches[cache.key.Name] = cache
	}
	traffic := useCaches(t, []*filledCache{caches["three"], caches["one"]})

	must(t, withdraw(ctx))
	must(t, suite.cluster.Subscribe(ctx, suite.manifests, walk.Choice{Version: old, Channel: path.Install, Source: path.source}))
	approve(ctx, t, old)
	must(t, suite.cluster.WaitOnly(ctx, old, 3*time.Minute))
	(&users{t: t, offers: suite.cluster.Offer}).reconciled(old)
	for _, name := range slices.Sorted(maps.Keys(caches)) {
		waitVersionBefore(ctx, t, caches[name].key, firstMemcached)
	}
	must(t, traffic.Stop())

	for _, name := range []string{"three", "one"} {
		t.Run("a cache of "+old+" is untouched: "+name, func(t *testing.T) {
			caches[name].count(t)
			caches[name].keptItems(t)
			caches[name].neverFailed(t)
			caches[name].keptPods(ctx, t, map[string]int32{"memcached": 0})
		})
	}
	for _, name := range []string{"monitored", "plain", "production", "stateful", "warm"} {
		t.Run("a cache of "+newer+" begins anew: "+name, func(t *testing.T) { beganAnew(ctx, t, caches[name]) })
	}
}

// waitVersionBefore waits until the Deployment of a cache is ready in a release without status.endpoints, and its pods run the
// version of memcached.
func waitVersionBefore(ctx context.Context, t *testing.T, key types.NamespacedName, want string) {
	t.Helper()
	must(t, walk.Within(ctx, 2*time.Minute, fmt.Sprintf("the Deployment of %s to run memcached %s", key, want), func(ctx context.Context) error {
		if err := rolledOut(ctx, key); err != nil {
			return err
		}
		for _, pod := range cachePods(ctx, t, key) {
			if len(pod.Spec.Containers) > 1 {
				continue // A pod of the StatefulSet.
			}
			if got, err := memcachedVersion(ctx, &pod); err != nil || got != want {
				return fmt.Errorf("%s runs %q: %w", pod.Name, got, err)
			}
		}
		return nil
	}))
}

// beganAnew fails the test unless the spec has only the size, and pods of a Deployment serve without items, TLS and passwords.
// A StatefulSet stays beside it, behind the same names.
func beganAnew(ctx context.Context, t *testing.T, cache *filledCache) {
	if spec := kubectl(ctx, t, "get", "memcached", cache.key.Name, "-n", cache.key.Namespace, "-o", "jsonpath={.spec}"); spec != fmt.Sprintf(`{"size":%d}`, len(cache.nodes)) {
		t.Errorf("its spec is %s", spec)
	}
	behind := addressesBehind(ctx, t, cache.key)
	stateful := 0
	for _, pod := range cachePods(ctx, t, cache.key) {
		if !slices.Contains(behind, pod.Status.PodIP) {
			t.Errorf("%s is not behind the names of the cache", pod.Name)
		}
		if slices.ContainsFunc(cache.nodes, func(n *filledNode) bool { return n.pod.UID == pod.UID }) {
			stateful++
			continue
		}
		address, stop, err := reach(ctx, &pod, memcachedPort)
		must(t, err)
		t.Cleanup(stop)
		for _, node := range cache.nodes {
			server := clients.NewMemcached(node.memcached.Name(), address, clients.Access{})
			if missing, err := server.Missing(manyItems, itemSize); err != nil || missing != manyItems {
				t.Errorf("%s lacks %d of %d items, want all: %v", pod.Name, missing, manyItems, err)
			}
		}
	}
	want := 0
	if releasedCaches[cache.key.Name].stateful {
		want = len(cache.nodes)
		var set appsv1.StatefulSet
		must(t, suite.cluster.Client.Get(ctx, cache.key, &set))
	}
	if stateful != want {
		t.Errorf("%d of its pods from before are there, want %d of the StatefulSet", stateful, want)
	}
}

// addressesBehind returns the addresses behind the headless Service of a cache.
func addressesBehind(ctx context.Context, t *testing.T, key types.NamespacedName) []string {
	t.Helper()
	var slicesOf discoveryv1.EndpointSliceList
	must(t, suite.cluster.Client.List(ctx, &slicesOf, client.InNamespace(key.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: key.Name + "-nodes"}))
	var addresses []string
	for _, slice := range slicesOf.Items {
		for _, endpoint := range slice.Endpoints {
			addresses = append(addresses, endpoint.Addresses...)
		}
	}
	return addresses
}
