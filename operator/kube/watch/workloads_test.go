package watch_test

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/example/memcached-operator/operator/kube/watch"
)

// A pod that is ready is urgent if its workload, of either kind, has counted it.
func TestAPodIsFoundInItsWorkload(t *testing.T) {
	named := metav1.ObjectMeta{Namespace: "default", Name: "cache"}
	set := &appsv1.StatefulSet{
		ObjectMeta: named, Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](2)},
		Status: appsv1.StatefulSetStatus{Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2},
	}
	deployment := &appsv1.Deployment{
		ObjectMeta: named, Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](2)},
		Status: appsv1.DeploymentStatus{Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2},
	}
	for name, test := range map[string]struct {
		controller string
		there      []client.Object
		urgent     bool
	}{
		"of a StatefulSet":              {"StatefulSet", []client.Object{set}, true},
		"of a Deployment":               {"ReplicaSet", []client.Object{deployment}, true},
		"of a StatefulSet that is gone": {"StatefulSet", []client.Object{deployment}, false},
		"of a Deployment that is gone":  {"ReplicaSet", []client.Object{set}, false},
		"of a Job":                      {"Job", []client.Object{set, deployment}, false},
	} {
		t.Run(name, func(t *testing.T) {
			delay := watch.Pod(watch.Workloads(fake.NewClientBuilder().WithObjects(test.there...).Build()))
			owned := func(p *corev1.Pod) {
				p.Namespace, p.Labels = "default", map[string]string{"app.kubernetes.io/instance": "cache"}
				p.OwnerReferences = []metav1.OwnerReference{{Kind: test.controller, Name: "cache", Controller: ptr.To(true)}}
			}
			want := watch.StatusDelay
			if test.urgent {
				want = 0
			}
			if got := delay(t.Context(), pod(false, owned), pod(true, owned)); got != want {
				t.Errorf("got a delay of %s, want %s", got, want)
			}
		})
	}
	if got := watch.Pod(watch.Workloads(fake.NewClientBuilder().Build()))(t.Context(), pod(false), pod(true)); got != watch.StatusDelay {
		t.Errorf("of a pod that nobody controls, got a delay of %s", got)
	}
}

// blocked is a reader of a cache that is never filled.
type blocked struct{ client.Reader }

func (blocked) Get(ctx context.Context, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	<-ctx.Done()
	return ctx.Err()
}

// The operator can stop while its caches are filled: a handler that reads another kind would wait for that forever.
func TestHandlersEndWhenTheOperatorStops(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for _, kind := range []string{"StatefulSet", "ReplicaSet"} {
		owned := func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Controller: ptr.To(true)}}
		}
		queue := &recorded{added: map[string]time.Duration{}}
		handler := watch.Handler(watch.Self, watch.Pod(watch.Workloads(blocked{})))
		handler.Update(ctx, event.UpdateEvent{ObjectOld: pod(false, owned), ObjectNew: pod(true, owned)}, queue)
		if len(queue.added) != 1 {
			t.Errorf("of the pod of a %s it enqueued %v", kind, queue.added)
		}
	}
}
