package watch_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/kube/apply"
	"github.com/example/memcached-operator/operator/kube/watch"
)

// running returns an owned Deployment whose rollout has ended, with changes applied.
func running(changes ...func(*appsv1.Deployment)) *appsv1.Deployment {
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Generation:      1,
			Labels:          map[string]string{"app.kubernetes.io/instance": "cache"},
			Annotations:     map[string]string{apply.HashAnnotation: "one"},
			OwnerReferences: []metav1.OwnerReference{{UID: "owner"}},
		},
		Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](3)},
		Status: appsv1.DeploymentStatus{
			ObservedGeneration: 1, Replicas: 3, UpdatedReplicas: 3, ReadyReplicas: 3,
		},
	}
	for _, change := range changes {
		change(deployment)
	}
	return deployment
}

func replicas(count int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Replicas, d.Generation = ptr.To(count), d.Generation+1 }
}

func hashed(hash string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Annotations = map[string]string{apply.HashAnnotation: hash} }
}

func readyPods(count int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Status.ReadyReplicas = count }
}

// applied returns an object with the annotation that the operator sets.
func applied(object client.Object) client.Object {
	object.SetAnnotations(map[string]string{apply.HashAnnotation: "one"})
	return object
}

func service(port int32) client.Object {
	return applied(&corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: port}}}})
}

func ingress(class, address string) client.Object {
	return applied(&networkingv1.Ingress{
		Spec: networkingv1.IngressSpec{IngressClassName: &class},
		Status: networkingv1.IngressStatus{LoadBalancer: networkingv1.IngressLoadBalancerStatus{
			Ingress: []networkingv1.IngressLoadBalancerIngress{{IP: address}},
		}},
	})
}

func budget(policy policyv1.UnhealthyPodEvictionPolicyType, healthy int32) client.Object {
	return applied(&policyv1.PodDisruptionBudget{
		Spec:   policyv1.PodDisruptionBudgetSpec{UnhealthyPodEvictionPolicy: &policy},
		Status: policyv1.PodDisruptionBudgetStatus{CurrentHealthy: healthy},
	})
}

func TestTheOperatorsOwnStatusWriteConcernsNobody(t *testing.T) {
	own := watch.Owner(func(client.Object) bool { return true })
	old := testkit.MakeMemcached("cache")
	if delay := own(old.Obj(), old.Obj()); delay != watch.Never {
		t.Errorf("a status write waits %s", delay)
	}
	if delay := own(old.Obj(), old.Generation(2).Obj()); delay != 0 {
		t.Errorf("a new spec waits %s", delay)
	}
}

func TestDelays(t *testing.T) {
	old := testkit.MakeMemcached("cache")
	owner := watch.Owner(func(client.Object) bool { return false })
	for name, test := range map[string]struct {
		delay       func(before, now client.Object) time.Duration
		before, now client.Object
		urgent      bool
	}{
		"a new cache":               {delay: owner, now: old.Obj(), urgent: true},
		"a new spec":                {delay: owner, before: old.Obj(), now: old.Generation(2).Obj(), urgent: true},
		"a deleted cache":           {delay: owner, before: old.Obj(), urgent: true},
		"a status write":            {delay: owner, before: old.Obj(), now: old.Obj()},
		"a created Deployment":      {delay: watch.Deployment, now: running()},
		"a deleted Deployment":      {delay: watch.Deployment, before: running(), urgent: true},
		"drift in the spec":         {delay: watch.Deployment, before: running(), now: running(replicas(7)), urgent: true},
		"a change by the operator":  {delay: watch.Deployment, before: running(), now: running(replicas(5), hashed("two"))},
		"the annotation is removed": {delay: watch.Deployment, before: running(), now: running(hashed("")), urgent: true},
		"a label is changed": {delay: watch.Deployment, before: running(), urgent: true, now: running(func(d *appsv1.Deployment) {
			d.Labels = nil
		})},
		"the owner reference is removed": {delay: watch.Deployment, before: running(), urgent: true, now: running(func(d *appsv1.Deployment) {
			d.OwnerReferences = nil
		})},
		"an annotation of another client": {delay: watch.Deployment, before: running(), now: running(func(d *appsv1.Deployment) {
			d.Annotations["deployment.kubernetes.io/revision"], d.Generation = "1", 2
		})},
		"one of several pods is ready": {delay: watch.Deployment, before: running(readyPods(0)), now: running(readyPods(1))},
		"the last pod is ready":        {delay: watch.Deployment, before: running(readyPods(2)), now: running(), urgent: true},
		"a ready pod is lost":          {delay: watch.Deployment, before: running(), now: running(readyPods(2)), urgent: true},
		"a surplus pod stops":          {delay: watch.Deployment, before: running(replicas(2)), now: running(replicas(2), readyPods(2))},
		"a status of an older spec": {delay: watch.Deployment, before: running(readyPods(2)), now: running(func(d *appsv1.Deployment) {
			d.Generation = 2
		})},
		"an outdated pod remains": {delay: watch.Deployment, before: running(readyPods(2)), now: running(func(d *appsv1.Deployment) {
			d.Status.UpdatedReplicas = 2
		})},
		"a Service's port is changed":               {delay: watch.Child, before: service(1), now: service(2), urgent: true},
		"a Service is created":                      {delay: watch.Child, now: service(1)},
		"a Service is deleted":                      {delay: watch.Child, before: service(1), urgent: true},
		"a Service is unchanged":                    {delay: watch.Child, before: service(1), now: service(1)},
		"an Ingress's class is changed":             {delay: watch.Child, before: ingress("a", "1"), now: ingress("b", "1"), urgent: true},
		"an Ingress gets an address":                {delay: watch.Child, before: ingress("a", "1"), now: ingress("a", "2")},
		"a disruption budget is changed":            {delay: watch.Child, before: budget("a", 1), now: budget("b", 1), urgent: true},
		"the status of a disruption budget changes": {delay: watch.Child, before: budget("a", 1), now: budget("a", 2)},
		"a pod": {delay: watch.Pod, now: &corev1.Pod{}},
	} {
		t.Run(name, func(t *testing.T) {
			want := watch.StatusDelay
			if test.urgent {
				want = 0
			}
			if got := test.delay(test.before, test.now); got != want {
				t.Errorf("got a delay of %s, want %s", got, want)
			}
		})
	}
}
