package scenario

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/hack/bench/workload"
	appv1alpha1 "github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

// stalled is for how long no custom resource may become ready.
const stalled = 2 * time.Minute

// tracker knows since when custom resources are Ready for their newest spec.
type tracker struct {
	lock sync.Mutex
	seen map[types.NamespacedName]observation
}

// observation is what the tracker has seen of a custom resource.
type observation struct {
	// ready is when it was first seen Ready for a generation.
	ready      time.Time
	generation int64
	// now tells whether it is Ready now, and reason is that of the condition.
	now    bool
	reason string
}

func newTracker(ctx context.Context, from cache.Cache) (*tracker, error) {
	t := &tracker{seen: map[types.NamespacedName]observation{}}
	for _, kind := range []client.Object{&v1alpha1.Memcached{}, &appv1alpha1.Application{}} {
		informer, err := from.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, err
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    t.changed,
			UpdateFunc: func(_, now any) { t.changed(now) },
			DeleteFunc: t.deleted,
		})
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *tracker) changed(object any) {
	now := time.Now()
	resource := object.(workload.Resource)
	ready := meta.FindStatusCondition(resource.GetConditions(), v1alpha1.ConditionReady)
	if ready == nil {
		return
	}
	t.lock.Lock()
	defer t.lock.Unlock()
	seen := t.seen[client.ObjectKeyFromObject(resource)]
	seen.now, seen.reason = ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == resource.GetGeneration(), ready.Reason
	if seen.now && seen.generation < resource.GetGeneration() {
		seen.ready, seen.generation = now, resource.GetGeneration()
	}
	t.seen[client.ObjectKeyFromObject(resource)] = seen
}

func (t *tracker) deleted(object any) {
	if resource, ok := object.(client.Object); ok {
		t.lock.Lock()
		defer t.lock.Unlock()
		delete(t.seen, client.ObjectKeyFromObject(resource))
	}
}

// readySince returns when a custom resource became Ready for a generation; false if it is not.
func (t *tracker) readySince(key types.NamespacedName, generation int64) (time.Time, bool) {
	t.lock.Lock()
	defer t.lock.Unlock()
	seen, found := t.seen[key]
	return seen.ready, found && seen.generation >= generation
}

// readyNow tells whether a custom resource is Ready.
func (t *tracker) readyNow(key types.NamespacedName) bool {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.seen[key].now
}

// reason returns that of the condition Ready, empty as long as a custom resource has no status.
func (t *tracker) reason(key types.NamespacedName) string {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.seen[key].reason
}

// await waits until all are Ready for a generation. It fails when none has become so for a long time.
func (t *tracker) await(ctx context.Context, keys []types.NamespacedName, generation int64) error {
	count, last := 0, time.Now()
	return wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(context.Context) (bool, error) {
		for count < len(keys) {
			if _, ready := t.readySince(keys[count], generation); !ready {
				break
			}
			count, last = count+1, time.Now()
		}
		if count < len(keys) && time.Since(last) > stalled {
			t.lock.Lock()
			defer t.lock.Unlock()
			return false, fmt.Errorf("%s has not been Ready for generation %d for %s: its reason is %q",
				keys[count], generation, stalled, t.seen[keys[count]].reason)
		}
		return count == len(keys), nil
	})
}
