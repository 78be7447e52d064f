package watch_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

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
			if got := delay(pod(false, owned), pod(true, owned)); got != want {
				t.Errorf("got a delay of %s, want %s", got, want)
			}
		})
	}
	if got := watch.Pod(watch.Workloads(fake.NewClientBuilder().Build()))(pod(false), pod(true)); got != watch.StatusDelay {
		t.Errorf("of a pod that nobody controls, got a delay of %s", got)
	}
}
