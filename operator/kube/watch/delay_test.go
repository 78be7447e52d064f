package watch_test

import (
	"context"
	"testing"

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
	"github.com/example/memcached-operator/operator/kube/workload"
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

// updating returns an owned StatefulSet in the middle of an update.
func updating(changes ...func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
	set := applied(&appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Generation: 2}, Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](3)},
		Status: appsv1.StatefulSetStatus{ObservedGeneration: 1, UpdateRevision: "new", Replicas: 3, ReadyReplicas: 3, UpdatedReplicas: 1},
	}).(*appsv1.StatefulSet)
	for _, change := range changes {
		change(set)
	}
	return set
}

func size(replicas int32) func(*appsv1.StatefulSet) {
	return func(s *appsv1.StatefulSet) { s.Spec.Replicas = ptr.To(replicas) }
}

func observed(s *appsv1.StatefulSet) { s.Status.ObservedGeneration = s.Generation }

func updated(pods int32) func(*appsv1.StatefulSet) {
	return func(s *appsv1.StatefulSet) { s.Status.UpdatedReplicas = pods }
}

// upToDate lets there be so many pods, all as they should be.
func upToDate(pods int32) func(*appsv1.StatefulSet) {
	return func(s *appsv1.StatefulSet) {
		s.Status.Replicas, s.Status.ReadyReplicas, s.Status.UpdatedReplicas = pods, pods, pods
	}
}

func ready(pods int32) func(*appsv1.StatefulSet) {
	return func(s *appsv1.StatefulSet) { s.Status.ReadyReplicas = pods }
}

func revision(name string) func(*appsv1.StatefulSet) {
	return func(s *appsv1.StatefulSet) { s.Status.UpdateRevision = name }
}

// pod returns a pod that is ready or not.
func pod(ready bool, changes ...func(*corev1.Pod)) *corev1.Pod {
	created := &testkit.Pods(1)[0]
	if !ready {
		testkit.Unready(created)
	}
	for _, change := range changes {
		change(created)
	}
	return created
}

func ending(p *corev1.Pod) { p.DeletionTimestamp = &testkit.Now }

// ofPods returns the Delay of the pods of a workload that counts so many of them as ready.
func ofPods(ready, wanted int32) watch.Delay {
	return watch.Pod(func(context.Context, client.Object) *workload.Status {
		return &workload.Status{Observed: true, Wanted: wanted, Replicas: wanted, Updated: wanted, Ready: ready}
	})
}

func TestTheOperatorsOwnStatusWriteConcernsNobody(t *testing.T) {
	own := watch.Owner(func(client.Object) bool { return true })
	old := testkit.MakeMemcached("cache")
	if delay := own(t.Context(), old.Obj(), old.Obj()); delay != watch.Never {
		t.Errorf("a status write waits %s", delay)
	}
	if delay := own(t.Context(), old.Obj(), old.Generation(2).Obj()); delay != 0 {
		t.Errorf("a new spec waits %s", delay)
	}
}

func TestDelays(t *testing.T) {
	old := testkit.MakeMemcached("cache")
	owner := watch.Owner(func(client.Object) bool { return false })
	asksFor5 := func(context.Context, client.Object) *int32 { return ptr.To[int32](5) }
	deployment, statefulSet := watch.Deployment(asksFor5), watch.StatefulSet(asksFor5)
	for name, test := range map[string]struct {
		delay       watch.Delay
		before, now client.Object
		urgent      bool
	}{
		"a new cache":              {delay: owner, now: old.Obj(), urgent: true},
		"a new spec":               {delay: owner, before: old.Obj(), now: old.Generation(2).Obj(), urgent: true},
		"a deleted cache":          {delay: owner, before: old.Obj(), urgent: true},
		"a status write":           {delay: owner, before: old.Obj(), now: old.Obj()},
		"a created Deployment":     {delay: deployment, now: running()},
		"a deleted Deployment":     {delay: deployment, before: running(), urgent: true},
		"drift in the spec":        {delay: deployment, before: running(), now: running(replicas(7)), urgent: true},
		"a change by the operator": {delay: deployment, before: running(), now: running(replicas(5), hashed("two"))},
		"a size that is asked for": {delay: deployment, before: running(), now: running(replicas(5))},
		"another size and image": {delay: deployment, before: running(), urgent: true, now: running(replicas(5), func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers = []corev1.Container{{Image: "x"}}
		})},
		"the annotation is removed": {delay: deployment, before: running(), now: running(hashed("")), urgent: true},
		"a label is changed": {delay: deployment, before: running(), urgent: true, now: running(func(d *appsv1.Deployment) {
			d.Labels = nil
		})},
		"the owner reference is removed": {delay: deployment, before: running(), urgent: true, now: running(func(d *appsv1.Deployment) {
			d.OwnerReferences = nil
		})},
		"an annotation of another client": {delay: deployment, before: running(), now: running(func(d *appsv1.Deployment) {
			d.Annotations["deployment.kubernetes.io/revision"], d.Generation = "1", 2
		})},
		"one of several pods is ready": {delay: deployment, before: running(readyPods(0)), now: running(readyPods(1))},
		"the last pod is ready":        {delay: deployment, before: running(readyPods(2)), now: running(), urgent: true},
		"a ready pod is lost":          {delay: deployment, before: running(), now: running(readyPods(2)), urgent: true},
		"a surplus pod stops":          {delay: deployment, before: running(replicas(2)), now: running(replicas(2), readyPods(2))},
		"a status of an older spec": {delay: deployment, before: running(readyPods(2)), now: running(func(d *appsv1.Deployment) {
			d.Generation = 2
		})},
		"an outdated pod remains": {delay: deployment, before: running(readyPods(2)), now: running(func(d *appsv1.Deployment) {
			d.Status.UpdatedReplicas = 2
		})},
		"a Service's port is changed":                 {delay: watch.Child, before: service(1), now: service(2), urgent: true},
		"a Service is created":                        {delay: watch.Child, now: service(1)},
		"a Service is deleted":                        {delay: watch.Child, before: service(1), urgent: true},
		"a Service is unchanged":                      {delay: watch.Child, before: service(1), now: service(1)},
		"an Ingress's class is changed":               {delay: watch.Child, before: ingress("a", "1"), now: ingress("b", "1"), urgent: true},
		"an Ingress gets an address":                  {delay: watch.Child, before: ingress("a", "1"), now: ingress("a", "2")},
		"a disruption budget is changed":              {delay: watch.Child, before: budget("a", 1), now: budget("b", 1), urgent: true},
		"the status of a disruption budget changes":   {delay: watch.Child, before: budget("a", 1), now: budget("a", 2)},
		"a new template is seen":                      {delay: statefulSet, before: updating(revision("old")), now: updating(observed), urgent: true},
		"a new StatefulSet gets its first revision":   {delay: statefulSet, before: updating(upToDate(0), revision("")), now: updating(upToDate(2), ready(0), observed)},
		"outdated pods are adopted":                   {delay: statefulSet, before: updating(upToDate(0), revision("")), now: updating(observed), urgent: true},
		"a new size is seen":                          {delay: statefulSet, before: updating(upToDate(2)), now: updating(upToDate(2), observed)},
		"one is seen amid an update":                  {delay: statefulSet, before: updating(), now: updating(observed), urgent: true},
		"a pod is ready in an update":                 {delay: statefulSet, before: updating(observed, ready(2)), now: updating(observed), urgent: true},
		"a StatefulSet gets a size that is asked for": {delay: statefulSet, before: updating(size(3)), now: updating(size(5))},
		"a StatefulSet gets a size of somebody's own": {delay: statefulSet, before: updating(size(3)), now: updating(size(4)), urgent: true},
		"an update has ended":                         {delay: statefulSet, before: updating(observed), now: updating(observed, updated(3)), urgent: true},
		"a pod is created":                            {delay: ofPods(2, 3), now: pod(true)},
		"a pod is ready first":                        {delay: ofPods(2, 3), before: pod(false), now: pod(true)},
		"a pod is ready that is counted":              {delay: ofPods(3, 3), before: pod(false), now: pod(true), urgent: true},
		"a pod changes otherwise":                     {delay: ofPods(3, 3), before: pod(true), now: pod(true)},
		"a pod is not ready first":                    {delay: ofPods(3, 3), before: pod(true), now: pod(false)},
		"a pod is not ready that is not counted":      {delay: ofPods(2, 3), before: pod(true), now: pod(false), urgent: true},
		"a pod that is not counted ends":              {delay: ofPods(2, 3), before: pod(true), now: pod(true, ending), urgent: true},
		"a surplus pod ends":                          {delay: ofPods(2, 2), before: pod(true), now: pod(true, ending)},
		"a pod of no workload":                        {delay: watch.Pod(func(context.Context, client.Object) *workload.Status { return nil }), before: pod(false), now: pod(true)},
	} {
		t.Run(name, func(t *testing.T) {
			want := watch.StatusDelay
			if test.urgent {
				want = 0
			}
			if got := test.delay(t.Context(), test.before, test.now); got != want {
				t.Errorf("got a delay of %s, want %s", got, want)
			}
		})
	}
}
