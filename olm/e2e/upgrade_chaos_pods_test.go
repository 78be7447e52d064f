//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/olm/e2e/clients"
	"github.com/example/memcached-operator/olm/walk"
	"github.com/example/memcached-operator/operator/kube/pods"
)

// chaosItems is how many items are stored in every pod of a cache.
const chaosItems = 5_000

// usedPods uses the pods of caches and Applications. A pod counts from the moment at which it is filled until its node loses its power: it
// keeps its items and answers all that time, and is not replaced. Afterwards it counts anew.
type usedPods struct {
	t *testing.T
	// owners are the names of the caches and Applications in the namespace default.
	owners []string
	end    context.CancelFunc
	ended  sync.WaitGroup

	mutex     sync.Mutex
	now       map[types.UID]*usedPod
	before    []*usedPod           // whose nodes have lost their power since
	powerLost map[string]time.Time // when a node has lost its power last
}

// usedPod is a pod under load.
type usedPod struct {
	owner         string
	first, latest corev1.Pod         // as it was when it was filled, and is now
	memcached     *clients.Memcached // nil in a pod of an Application
	load          *clients.Load

	// What it was like when it was last used.
	lostPower bool // its node loses its power next
	replaced  bool
	lost      int   // items
	err       error // why they could not be counted
	counts    clients.Counts
}

// usePods begins to use the pods of the caches and Applications of these names, also those that are created later.
func usePods(t *testing.T, owners ...string) *usedPods {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	u := &usedPods{t: t, owners: owners, end: end, now: map[types.UID]*usedPod{}, powerLost: map[string]time.Time{}}
	t.Cleanup(func() { u.finish() })
	u.ended.Go(func() {
		for ctx.Err() == nil {
			u.useNew(ctx)
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
		}
	})
	return u
}

// useNew reads the pods, and begins to use those that are new. While the API server is away, it does nothing.
func (u *usedPods) useNew(ctx context.Context) {
	list, err := u.list(ctx)
	if err != nil {
		return
	}
	var filling sync.WaitGroup
	for _, pod := range u.take(list) {
		filling.Go(func() { u.fill(ctx, &pod) })
	}
	filling.Wait()
}

func (u *usedPods) list(ctx context.Context) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := suite.cluster.Client.List(ctx, &list, client.InNamespace("default"), client.MatchingLabels{"app.kubernetes.io/managed-by": walk.Package})
	return slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return !slices.Contains(u.owners, ownerOf(&pod)) }), err
}

func ownerOf(pod *corev1.Pod) string { return pod.Labels["app.kubernetes.io/instance"] }

// take notes what the pods are like, and returns those that are ready to be used.
func (u *usedPods) take(list []corev1.Pod) (ready []corev1.Pod) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	there := map[types.UID]bool{}
	for _, pod := range list {
		there[pod.UID] = pod.DeletionTimestamp == nil
		if used := u.now[pod.UID]; used != nil {
			used.latest = pod
		} else if there[pod.UID] && pods.Ready(&pod) && started(&pod).After(u.powerLost[pod.Spec.NodeName]) {
			ready = append(ready, pod)
		}
	}
	for uid, used := range u.now {
		if !there[uid] && !used.replaced {
			used.replaced = true
			u.t.Errorf("%s was replaced, although %s had power", used.first.Name, used.first.Spec.NodeName)
		}
	}
	return ready
}

// started returns when the program of a pod has started. The address of a pod that has not started since its node lost its power may
// already be that of another pod.
func started(pod *corev1.Pod) time.Time {
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name != "agent" && status.State.Running != nil {
			return status.State.Running.StartedAt.Time
		}
	}
	return time.Time{}
}

// fill stores items in a pod, if it is of a cache, and starts a load on it.
func (u *usedPods) fill(ctx context.Context, pod *corev1.Pod) {
	used := &usedPod{owner: ownerOf(pod), first: *pod, latest: *pod}
	address, _, err := reach(ctx, pod, memcachedPort) // That of the pod, because the cluster is the local one.
	var server clients.Server
	if pod.Labels["app.kubernetes.io/name"] == "memcached" {
		used.memcached = clients.NewMemcached(pod.Name, address, clients.Access{})
		server = used.memcached
		err = errors.Join(err, used.memcached.Store(chaosItems, itemSize))
	} else {
		server = clients.NewWeb(pod.Name, fmt.Sprintf("http://%s:8080/", pod.Status.PodIP))
	}
	if err != nil {
		u.t.Logf("%s is not filled yet: %v", pod.Name, err)
		return
	}
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if started(pod).After(u.powerLost[pod.Spec.NodeName]) { // The node has not lost its power meanwhile.
		used.load = clients.StartLoad([]clients.Server{server})
		u.now[pod.UID] = used
	}
}

// losePower ends the use of the pods of a node that loses its power next. They are not used again until they have started after the call of
// the function that it returns.
func (u *usedPods) losePower(node string) (lost func()) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	u.powerLost[node] = time.Now().Add(time.Hour)
	for uid, used := range u.now {
		if used.first.Spec.NodeName == node {
			used.finish()
			used.lostPower = true
			u.before = append(u.before, used)
			delete(u.now, uid)
		}
	}
	return func() {
		u.mutex.Lock()
		defer u.mutex.Unlock()
		u.powerLost[node] = time.Now()
	}
}

// finish stops the load, counts the lost items, and reads the restarts. A warm restart may be under way.
func (p *usedPod) finish() {
	p.err = p.load.Stop()
	p.counts = p.load.Counts()
	if p.memcached == nil {
		return
	}
	ctx := context.Background() // The test may have ended.
	err := walk.Within(ctx, 30*time.Second, p.first.Name+" to answer", func(context.Context) (err error) {
		p.lost, err = p.memcached.Missing(chaosItems, itemSize)
		return err
	})
	if err == nil {
		p.readRestarts(ctx)
	}
	p.err = errors.Join(p.err, err)
}

// readRestarts waits until the pod has a restart of memcached for each outage. The kubelet reports it a moment after memcached answers, and
// the API server may be away. What is still missing then is for answered to say.
func (p *usedPod) readRestarts(ctx context.Context) {
	_ = walk.Within(ctx, time.Minute, "the restarts of "+p.first.Name, func(ctx context.Context) error {
		if len(p.outages()) <= p.restarts()["memcached"] {
			return nil
		}
		var pod corev1.Pod
		err := suite.cluster.Client.Get(ctx, client.ObjectKeyFromObject(&p.first), &pod)
		if err == nil && pod.UID == p.first.UID {
			p.latest = pod
		}
		return errors.Join(errors.New("some are not reported"), err)
	})
}

// allUsed waits until every pod is in use.
func (u *usedPods) allUsed(d time.Duration) {
	u.t.Helper()
	must(u.t, walk.Within(u.t.Context(), d, "every pod to be in use", func(ctx context.Context) error {
		list, err := u.list(ctx)
		if err != nil {
			return err
		}
		u.mutex.Lock()
		defer u.mutex.Unlock()
		var missing []string
		for _, pod := range list {
			if u.now[pod.UID] == nil {
				missing = append(missing, pod.Name)
			}
		}
		if len(missing) > 0 || len(list) == 0 {
			return fmt.Errorf("%d pods, of which these are not: %v", len(list), missing)
		}
		return nil
	}))
}

// finish ends the use of all pods, and returns them with those whose nodes had lost their power, by name and time.
func (u *usedPods) finish() []*usedPod {
	u.end()
	u.ended.Wait()
	u.mutex.Lock()
	defer u.mutex.Unlock()
	for _, used := range u.now {
		used.finish()
	}
	u.before = slices.AppendSeq(u.before, maps.Values(u.now))
	u.now = nil
	slices.SortStableFunc(u.before, func(a, b *usedPod) int { return strings.Compare(a.first.Name, b.first.Name) })
	return u.before
}
