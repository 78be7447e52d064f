package watch_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/example/memcached-operator/operator/kube/watch"
)

// recorded is a queue that records added requests.
type recorded struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	added map[string]time.Duration
}

func (r *recorded) AddAfter(request reconcile.Request, after time.Duration) {
	r.added[request.String()] = after
}

// labelled returns a pod of the given application and instance.
func labelled(application, instance string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pod", Labels: map[string]string{
		"app.kubernetes.io/name": application, "app.kubernetes.io/instance": instance,
	}}}
}

func TestHandlerEnqueuesOwners(t *testing.T) {
	later := func(_ context.Context, _, _ client.Object) time.Duration { return time.Minute }
	handler := watch.Handler(watch.OwnerByLabel("web"), later)
	for name, test := range map[string]struct {
		happens func(queue *recorded)
		want    []string
	}{
		"a new object": {
			happens: func(q *recorded) { handler.Create(t.Context(), event.CreateEvent{Object: labelled("web", "a")}, q) },
			want:    []string{"default/a"},
		},
		"an object of another application": {
			happens: func(q *recorded) { handler.Create(t.Context(), event.CreateEvent{Object: labelled("other", "a")}, q) },
		},
		"an object without an owner": {
			happens: func(q *recorded) { handler.Create(t.Context(), event.CreateEvent{Object: labelled("web", "")}, q) },
		},
		"an object that moves from one owner to another": {
			happens: func(q *recorded) {
				handler.Update(t.Context(), event.UpdateEvent{ObjectOld: labelled("web", "a"), ObjectNew: labelled("web", "b")}, q)
			},
			want: []string{"default/a", "default/b"},
		},
		"an object whose label is taken away": {
			happens: func(q *recorded) {
				handler.Update(t.Context(), event.UpdateEvent{ObjectOld: labelled("web", "a"), ObjectNew: labelled("", "a")}, q)
			},
			want: []string{"default/a"},
		},
		"a deleted object": {
			happens: func(q *recorded) { handler.Delete(t.Context(), event.DeleteEvent{Object: labelled("web", "a")}, q) },
			want:    []string{"default/a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			queue := &recorded{added: map[string]time.Duration{}}
			test.happens(queue)
			var names []string
			for name, after := range queue.added {
				names = append(names, name)
				if after != time.Minute {
					t.Errorf("%s is enqueued with a delay of %s", name, after)
				}
			}
			slices.Sort(names)
			if difference := cmp.Diff(test.want, names); difference != "" {
				t.Errorf("enqueued (-want +got):\n%s", difference)
			}
		})
	}
}

func TestAReconcileThatFailsIsRepeatedWithinAMinute(t *testing.T) {
	limiter := watch.Options().RateLimiter
	var longest time.Duration
	for range 100 {
		longest = max(longest, limiter.When(reconcile.Request{}))
	}
	if longest != time.Minute {
		t.Errorf("the longest time until a reconcile is repeated is %s", longest)
	}
}

func TestHandlerLeavesOutWhatConcernsNobody(t *testing.T) {
	queue := &recorded{added: map[string]time.Duration{}}
	handler := watch.Handler(watch.Self, func(_ context.Context, _, _ client.Object) time.Duration { return watch.Never })
	handler.Update(t.Context(), event.UpdateEvent{ObjectOld: labelled("web", "a"), ObjectNew: labelled("web", "a")}, queue)
	if len(queue.added) > 0 {
		t.Errorf("it enqueued %v", queue.added)
	}
}
