//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/olm/e2e/clients"
	"github.com/example/memcached-operator/olm/walk"
	"github.com/example/memcached-operator/operator/kube/pods"
)

// A deleted pod comes back with the same name and DNS name. The other pods are not touched.
func cameBack(t *testing.T) {
	p := produce(t, "deleted", 2, "workload: StatefulSet")
	servers := p.servers(clients.Access{})
	const items = 1000
	p.storeAll(servers, items, smallItem)
	other := p.use(servers[:1])
	before, hosts := p.pods(), p.hosts()

	kubectl(t.Context(), t, "delete", "pod", p.podName(1), "-n", p.key.Namespace)
	after := p.replaced(before[p.podName(1)])
	cache := p.ready(time.Minute)
	if endpoint := cache.Status.Endpoints[1]; endpoint.Pod != p.podName(1) || endpoint.Host != hosts[1] || !endpoint.Ready {
		t.Errorf("status.endpoints says %+v", endpoint)
	}
	p.leads(hosts[1], after.Status.PodIP)
	must(t, servers[1].Store(items, smallItem))
	p.complete(servers, items)
	delete(before, p.podName(1))
	p.same(before)
	p.unnoticed("the other pod", other...)
}

// replaced waits until a new pod of the same name is ready, and returns it.
func (p *production) replaced(before corev1.Pod) *corev1.Pod {
	p.t.Helper()
	var pod corev1.Pod
	must(p.t, walk.Within(p.t.Context(), 2*time.Minute, "another "+before.Name+" to be ready", func(ctx context.Context) error {
		if err := suite.cluster.Client.Get(ctx, client.ObjectKeyFromObject(&before), &pod); err != nil {
			return err
		}
		if pod.UID == before.UID || !pods.Ready(&pod) {
			return errors.New("it is not")
		}
		return nil
	}))
	return &pod
}

// leads waits until a DNS name of a pod leads to its new address. DNS may return the old one for some seconds. Once it returns the new
// one, the pod serves.
func (p *production) leads(host, address string) {
	p.t.Helper()
	must(p.t, walk.Within(p.t.Context(), 30*time.Second, host+" to lead to the new pod", func(ctx context.Context) error {
		ip, err := p.network.Lookup(ctx, host)
		if err == nil && ip != address {
			err = fmt.Errorf("it leads to %s, want %s", ip, address)
		}
		return err
	}))
}

// Evictions, such as those of a drain, leave a cache of two pods one that serves. A cache of one pod does not block them.
func evicted(t *testing.T) {
	onlyLocal(t)
	single := produce(t, "single", 1, "workload: StatefulSet\ndisruption: {}")
	p := produce(t, "evicted", 2, "workload: StatefulSet\ndisruption: {}")
	servers := p.servers(clients.Access{})
	const items = 1000
	p.storeAll(servers, items, smallItem)
	p.use(servers)
	before := p.pods()

	drainUntilRefused(t, p)
	gone, left := p.split(before)
	if len(gone) != 1 || len(left) != 1 {
		t.Fatalf("of two pods, %d were evicted and %d were not", len(gone), len(left))
	}
	second := before[left[0]]
	if err := evict(t.Context(), second); !apierrors.IsTooManyRequests(err) {
		t.Errorf("an eviction of the only pod that is ready: %v", err)
	}
	must(t, evict(t.Context(), single.pods()[single.podName(0)]))
	uncordon(t.Context(), t, nodeNames(t)...)
	p.replaced(before[gone[0]])
	p.ready(time.Minute)
	single.ready(time.Minute)
	number := int(second.Name[len(second.Name)-1] - '0')
	if missing := p.missing(servers[number], items, smallItem); missing > 0 {
		t.Errorf("%s lost %d of %d items although it was not evicted", second.Name, missing, items)
	}
	if failed := servers[number].Outcome().Failed; len(failed) > 0 {
		t.Errorf("%d requests to %s failed although it was not evicted", len(failed), second.Name)
	}
	must(t, walk.Within(t.Context(), 30*time.Second, "the second pod to be evicted once the first is back", func(ctx context.Context) error {
		return evict(ctx, second)
	}))
	p.replaced(second)
	p.ready(time.Minute)
}

// drainUntilRefused drains all nodes of the cluster, so that an evicted pod does not come back, and expects the drain to fail.
func drainUntilRefused(t *testing.T, p *production) {
	t.Helper()
	all := nodeNames(t)
	t.Cleanup(func() { uncordon(context.Background(), t, all...) })
	start := time.Now()
	_, err := suite.cluster.Kubectl(t.Context(), slices.Concat([]string{"drain"}, all, []string{"--pod-selector=app.kubernetes.io/instance=" + p.key.Name,
		"--ignore-daemonsets", "--delete-emptydir-data", "--timeout=15s"})...)
	if err == nil {
		t.Fatal("all nodes were drained of all pods of a cache at the same time")
	}
	contains(t, err.Error(), "Cannot evict pod as it would violate the pod's disruption budget")
	t.Logf("kubectl drain gave up after %s", time.Since(start).Round(time.Second))
}

// split returns which of the pods are gone, being deleted or not ready, and which are as before.
func (p *production) split(before map[string]corev1.Pod) (gone, left []string) {
	p.t.Helper()
	now := p.pods()
	for name, pod := range before {
		if after, there := now[name]; there && after.UID == pod.UID && pods.Ready(&after) {
			left = append(left, name)
		} else {
			gone = append(gone, name)
		}
	}
	return gone, left
}

// evict requests the eviction of exactly this pod.
func evict(ctx context.Context, pod corev1.Pod) error {
	// The client repeats requests that the API server refuses for now.
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	uid := pod.UID
	return suite.cluster.Client.SubResource("eviction").Create(ctx, &pod, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}},
	})
}
