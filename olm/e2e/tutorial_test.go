//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/memcached-operator/olm/walk"
	"github.com/example/memcached-operator/olm/walk/forward"
)

// tutorials is the namespace of the caches of the tutorial.
const tutorials = "e2e-tutorial"

// T11, T6, T7, T15: a CatalogSource and a Subscription have installed the operator, and caches work as the tutorials show.
func tutorial(t *testing.T) {
	ctx := t.Context()
	namespace(t, tutorials)
	t.Run("the package is listed with its channels", func(t *testing.T) {
		must(t, walk.Within(ctx, time.Minute, "the package in the catalog", func(ctx context.Context) error {
			out, err := suite.cluster.Kubectl(ctx, "get", "packagemanifest", walk.Package, "-n", walk.Namespace,
				"-o", "jsonpath={.status.defaultChannel} {.status.channels[*].name}")
			if diff := cmp.Diff("candidate candidate fast", strings.TrimSpace(out)); err == nil && diff != "" {
				err = fmt.Errorf("default channel and channels (-want +got):\n%s", diff)
			}
			return err
		}))
	})
	t.Run("the InstallPlan is complete and the CSV succeeded", func(t *testing.T) {
		must(t, walk.Within(ctx, time.Minute, "the InstallPlan to be complete", func(ctx context.Context) error {
			phase, err := suite.cluster.Kubectl(ctx, "get", "installplans", "-n", walk.Namespace, "-o", "jsonpath={.items[*].status.phase}")
			if err == nil && phase != "Complete" {
				err = fmt.Errorf("it is %s", phase)
			}
			return err
		}))
		contains(t, kubectl(ctx, t, "get", "csv", "-n", walk.Namespace), walk.CSVName(suite.version), "Succeeded")
	})
	t.Run("the operator reports that it can be upgraded", func(t *testing.T) {
		must(t, suite.cluster.WaitReported(ctx, suite.version, metav1.ConditionTrue, time.Minute))
	})
	t.Run("a cache of three serves on every pod", servesOnEveryPod)
	t.Run("a patch to three adds one pod and keeps the others", patchAddsOnePod)
	t.Run("kubectl scale works to zero and back", scalesToZeroAndBack)
	t.Run("a change by hand is reverted, with an event", handEditIsPutBack)
}

func inTutorial(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: tutorials, Name: name}
}

func servesOnEveryPod(t *testing.T) {
	ctx := t.Context()
	key := inTutorial("example-memcached")
	create(t, tutorials, "example-memcached.yaml")
	cache, err := suite.cluster.WaitReady(ctx, key, 3, 2*time.Minute)
	must(t, err)

	contains(t, kubectl(ctx, t, "get", "deployment", key.Name, "-n", tutorials), "3/3")
	var pods []string
	for _, pod := range cachePods(ctx, t, key) {
		pods = append(pods, pod.Name)
	}
	slices.Sort(pods)
	if diff := cmp.Diff(pods, cache.Status.Nodes); diff != "" {
		t.Errorf("status.nodes against the pods (-pods +nodes):\n%s", diff)
	}
	yaml := kubectl(ctx, t, "get", "memcached/"+key.Name, "-n", tutorials, "-o", "yaml")
	for _, pod := range pods {
		contains(t, yaml, "- "+pod)
		if !strings.HasPrefix(pod, key.Name+"-") {
			t.Errorf("pod %s is not named after its cache", pod)
		}
		_, err := forward.StoreAndRead(ctx, suite.cluster.Config, types.NamespacedName{Namespace: key.Namespace, Name: pod})
		must(t, err)
	}
}

func patchAddsOnePod(t *testing.T) {
	ctx := t.Context()
	key := inTutorial("memcached-sample")
	create(t, tutorials, "cache_v1alpha1_memcached.yaml")
	_, err := suite.cluster.WaitReady(ctx, key, 2, 2*time.Minute)
	must(t, err)
	before := podsByUID(t, key)

	kubectl(ctx, t, "patch", "memcached", key.Name, "-n", tutorials, "-p", `{"spec":{"size": 3}}`, "--type=merge")
	_, err = suite.cluster.WaitReady(ctx, key, 3, time.Minute)
	must(t, err)
	after := podsByUID(t, key)
	for uid, restarts := range before {
		if got, ok := after[uid]; !ok || got != restarts {
			t.Errorf("pod %s was there before the patch: still there %t, restarts %d then %d", uid, ok, restarts, got)
		}
	}
}

func scalesToZeroAndBack(t *testing.T) {
	ctx := t.Context()
	key := inTutorial("example-memcached")
	create(t, tutorials, "example-memcached.yaml")
	for _, size := range []int32{0, 1} {
		kubectl(ctx, t, "scale", "memcached", key.Name, "-n", tutorials, fmt.Sprintf("--replicas=%d", size))
		_, err := suite.cluster.WaitReady(ctx, key, size, time.Minute)
		must(t, err)
	}
}

func handEditIsPutBack(t *testing.T) {
	ctx := t.Context()
	key := inTutorial("example-memcached")
	create(t, tutorials, "example-memcached.yaml")
	_, err := suite.cluster.WaitReady(ctx, key, 3, 2*time.Minute)
	must(t, err)

	kubectl(ctx, t, "scale", "deployment", key.Name, "-n", tutorials, "--replicas=7")
	must(t, walk.Within(ctx, 20*time.Second, "the Deployment to have 3 replicas again", func(ctx context.Context) error {
		replicas, err := suite.cluster.Kubectl(ctx, "get", "deployment", key.Name, "-n", tutorials, "-o", "jsonpath={.spec.replicas}")
		if err == nil && replicas != "3" {
			err = fmt.Errorf("spec.replicas is %s", replicas)
		}
		return err
	}))
	must(t, walk.Within(ctx, 20*time.Second, "an event about the repair", func(ctx context.Context) error {
		events, err := suite.cluster.Kubectl(ctx, "get", "events", "-n", tutorials, "--field-selector", "involvedObject.kind=Memcached,involvedObject.name="+key.Name)
		if err == nil && (!strings.Contains(events, "DriftRepaired") || !strings.Contains(events, "replicas")) {
			err = fmt.Errorf("events are:\n%s", events)
		}
		return err
	}))
}

// create applies a sample, and deletes it with everything it owns when the test ends.
func create(t *testing.T, namespace, file string) {
	t.Helper()
	kubectl(t.Context(), t, "apply", "-n", namespace, "-f", sample(file))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		must(t, suite.cluster.Delete(ctx, "-n", namespace, "-f", sample(file)))
		must(t, walk.Within(ctx, 90*time.Second, "what the cache owned to go", func(ctx context.Context) error {
			left, err := suite.cluster.Kubectl(ctx, "get", "deployments,pods", "-n", namespace, "-l", "app.kubernetes.io/managed-by=memcached-operator", "-o", "name")
			if err == nil && left != "" {
				err = fmt.Errorf("still there: %s", strings.Join(strings.Fields(left), ", "))
			}
			return err
		}))
	})
}

// podsByUID maps the UID of each of the cache's pods to its number of container restarts.
func podsByUID(t *testing.T, key types.NamespacedName) map[types.UID]int32 {
	t.Helper()
	restarts := map[types.UID]int32{}
	for _, pod := range cachePods(t.Context(), t, key) {
		if len(pod.Status.ContainerStatuses) == 0 {
			t.Fatalf("pod %s has no container status", pod.Name)
		}
		for _, status := range pod.Status.ContainerStatuses {
			restarts[pod.UID] += status.RestartCount
		}
	}
	return restarts
}
