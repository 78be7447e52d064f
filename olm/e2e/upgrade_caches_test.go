//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/memcached-operator/hack/project"
	"github.com/example/memcached-operator/olm/e2e/clients"
	"github.com/example/memcached-operator/olm/e2e/observe"
	"github.com/example/memcached-operator/olm/walk"
	cachev1alpha1 "github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

// filledCache is a cache with items in every pod, under load while something happens to it.
type filledCache struct {
	key   types.NamespacedName
	nodes []*filledNode
	pods  *observe.PodWatch
	seen  observe.Seen
}

// filledNode is a pod of the cache, as it was when it was filled.
type filledNode struct {
	pod       corev1.Pod
	memcached *clients.Memcached
	missing   int
}

// fillNewCache creates a cache and stores many items in every pod.
func fillNewCache(ctx context.Context, t *testing.T, name string, spec cachev1alpha1.MemcachedSpec) *filledCache {
	t.Helper()
	c := &filledCache{key: inDefault(name)}
	must(t, suite.cluster.Client.Create(ctx, &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: c.key.Namespace, Name: name}, Spec: spec}))
	waitVersion(ctx, t, c.key, int(spec.Size), project.DefaultOperand)
	c.fill(ctx, t, func(pod *corev1.Pod) *clients.Memcached { return inPlainText(ctx, t, pod, clients.Access{}) })
	return c
}

// inPlainText returns a client of the memcached in a pod, by the pod's address.
func inPlainText(ctx context.Context, t *testing.T, pod *corev1.Pod, access clients.Access) *clients.Memcached {
	t.Helper()
	address, stop, err := reach(ctx, pod, memcachedPort)
	must(t, err)
	t.Cleanup(stop)
	return clients.NewMemcached(pod.Name, address, access)
}

// fill stores many items in every pod of the cache. use returns a client of the memcached in a pod.
func (c *filledCache) fill(ctx context.Context, t *testing.T, use func(*corev1.Pod) *clients.Memcached) {
	t.Helper()
	for _, pod := range cachePods(ctx, t, c.key) {
		c.nodes = append(c.nodes, &filledNode{pod: pod, memcached: use(&pod)})
	}
	slices.SortFunc(c.nodes, func(a, b *filledNode) int { return strings.Compare(a.pod.Name, b.pod.Name) })
	var filling sync.WaitGroup
	for _, node := range c.nodes {
		filling.Go(func() {
			if err := node.memcached.Store(manyItems, itemSize); err != nil {
				t.Error(err)
			}
		})
	}
	filling.Wait()
}

// useCaches starts a load on every pod of the caches, and on Services.
func useCaches(t *testing.T, caches []*filledCache, services ...*clients.Memcached) *clients.Load {
	t.Helper()
	var servers []clients.Server
	for _, service := range services {
		servers = append(servers, service)
	}
	for _, cache := range caches {
		for _, node := range cache.nodes {
			servers = append(servers, node.memcached)
		}
	}
	traffic := clients.StartLoad(servers)
	t.Cleanup(func() { must(t, traffic.Stop()) })
	return traffic
}

// follow starts to watch the pods.
func (c *filledCache) follow(ctx context.Context, t *testing.T) {
	t.Helper()
	var err error
	c.pods, err = observe.WatchPods(ctx, suite.cluster.Client, ofCache(c.key)...)
	must(t, err)
}

// sum stops the watch, and counts the lost items.
func (c *filledCache) sum(t *testing.T) {
	t.Helper()
	var err error
	c.seen, err = c.pods.Stop()
	must(t, err)
	c.count(t)
}

// count counts the lost items. A pod that does not answer has lost all.
func (c *filledCache) count(t *testing.T) {
	t.Helper()
	for _, node := range c.nodes {
		var err error
		if node.missing, err = node.memcached.Missing(manyItems, itemSize); err != nil {
			t.Log(err)
		}
	}
}

// waitRestarts waits until the containers of every pod have been restarted this often.
func (c *filledCache) waitRestarts(ctx context.Context, t *testing.T, want map[string]int32) {
	t.Helper()
	must(t, walk.Within(ctx, 2*time.Minute, fmt.Sprintf("containers of %s to be restarted %v times", c.key, want), func(ctx context.Context) error {
		var pods corev1.PodList
		if err := suite.cluster.Client.List(ctx, &pods, ofCache(c.key)...); err != nil {
			return err
		}
		for i := range pods.Items {
			restarts := containerRestarts(&pods.Items[i])
			for container, count := range want {
				if restarts[container] != count {
					return fmt.Errorf("those of %s were restarted %v times", pods.Items[i].Name, restarts)
				}
			}
		}
		return nil
	}))
}

// keptItems fails the test if an item is missing.
func (c *filledCache) keptItems(t *testing.T) {
	t.Helper()
	for _, node := range c.nodes {
		if node.missing > 0 {
			t.Errorf("%s has lost %d of %d items", node.pod.Name, node.missing, manyItems)
		}
	}
}

// keptPods fails the test unless the pods are the same, and their containers were restarted exactly this often since they were filled.
func (c *filledCache) keptPods(ctx context.Context, t *testing.T, restarts map[string]int32) {
	t.Helper()
	pods := cachePods(ctx, t, c.key)
	for _, node := range c.nodes {
		i := slices.IndexFunc(pods, func(pod corev1.Pod) bool { return pod.UID == node.pod.UID })
		if i < 0 {
			t.Errorf("%s was replaced", node.pod.Name)
			continue
		}
		got := containerRestarts(&pods[i])
		for container, before := range containerRestarts(&node.pod) {
			got[container] -= before
		}
		if !maps.Equal(got, restarts) {
			t.Errorf("containers of %s were restarted %v times, want %v", node.pod.Name, got, restarts)
		}
	}
	if len(pods) != len(c.nodes) {
		t.Errorf("there are %d pods, want %d", len(pods), len(c.nodes))
	}
}

// neverFailed fails the test if a request failed.
func (c *filledCache) neverFailed(t *testing.T) {
	t.Helper()
	for _, node := range c.nodes {
		if outcome := node.memcached.Outcome(); len(outcome.Failed) > 0 || outcome.Requests == 0 {
			t.Errorf("%s: %d of %d requests failed, the first with: %v", node.pod.Name, len(outcome.Failed), outcome.Requests, outcome.Failure)
		}
	}
}

// longestRestart is how long memcached may not answer its clients during a warm restart.
const longestRestart = 30 * time.Second

// oneDownAtATime fails the test unless all pods but one were ready, and answered their clients, at any time.
func (c *filledCache) oneDownAtATime(t *testing.T) {
	t.Helper()
	if c.seen.Least < len(c.nodes)-1 {
		t.Errorf("only %d of %d pods were ready for a time, want all but one always", c.seen.Least, len(c.nodes))
	}
	for i, node := range c.nodes {
		outcome := node.memcached.Outcome()
		if len(outcome.Failed) == 0 || outcome.Missed() > longestRestart {
			t.Errorf("%s: %d of %d requests failed, for %s: want some, for less than %s", node.pod.Name, len(outcome.Failed), outcome.Requests, outcome.Missed(), longestRestart)
		}
		for _, other := range c.nodes[i+1:] {
			if outcome.Overlaps(other.memcached.Outcome()) {
				t.Errorf("%s and %s did not answer at the same time", node.pod.Name, other.pod.Name)
			}
		}
	}
}

// saysWarm fails the test unless the status reports that every pod kept its items.
func (c *filledCache) saysWarm(ctx context.Context, t *testing.T) {
	t.Helper()
	var cache cachev1alpha1.Memcached
	must(t, suite.cluster.Client.Get(ctx, c.key, &cache))
	for _, node := range cache.Status.Endpoints {
		if node.Items != cachev1alpha1.ItemsWarm || node.Since == nil || node.Host == "" {
			t.Errorf("the status says of %s: %+v", node.Pod, node)
		}
	}
}

// table shows what happened to every pod.
func table(ctx context.Context, t *testing.T, caches []*filledCache) string {
	t.Helper()
	var out strings.Builder
	lines := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(lines, "pod\titems kept\trequests\tfailed\tseconds without answers\trestarts")
	for _, cache := range caches {
		for _, pod := range cachePods(ctx, t, cache.key) {
			i := slices.IndexFunc(cache.nodes, func(n *filledNode) bool { return n.pod.UID == pod.UID })
			if i < 0 {
				fmt.Fprintf(lines, "%s\tnew\n", pod.Name)
				continue
			}
			node := cache.nodes[i]
			outcome := node.memcached.Outcome()
			fmt.Fprintf(lines, "%s\t%d of %d\t%d\t%d\t%.1f\t%v\n", pod.Name, manyItems-node.missing, manyItems,
				outcome.Requests, len(outcome.Failed), outcome.Missed().Seconds(), containerRestarts(&pod))
		}
	}
	if err := lines.Flush(); err != nil {
		t.Error(err)
	}
	return out.String()
}
