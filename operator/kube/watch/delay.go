package watch

import (
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/kube/apply"
	"github.com/example/memcached-operator/operator/kube/workload"
)

// StatusDelay is how long news that only concern the status may wait for more of them. While pods start, every one brings
// several events, and one status write for all of them is enough. The queue keeps one entry per object, with the
// earliest of its times, so the status is never further behind than this.
//
// A start seldom takes longer, so that a new object costs one status on the way and one at the end.
//
// What the user waits for does not wait: a change to the spec, an object that somebody else has changed or deleted, the
// end of a rollout and the loss of a pod are looked at immediately.
const StatusDelay = 10 * time.Second

// Owner is for the objects that users write: a new spec is urgent. What else can change is the status, mostly by our own
// hand.
func Owner(before, now client.Object) time.Duration {
	if before == nil || now == nil || before.GetGeneration() != now.GetGeneration() {
		return 0
	}
	return StatusDelay
}

// Child is for objects that we make: changes by others are urgent. Our own are not: the status has told of them already.
func Child(before, now client.Object) time.Duration {
	if now == nil {
		return 0 // Deleted, or our label was taken away.
	}
	if before == nil {
		return StatusDelay // Made by us.
	}
	if hash(before) == hash(now) && !equality.Semantic.DeepEqual(content(before), content(now)) {
		return 0 // Changed by somebody else: we would have left another hash.
	}
	if hash(now) == "" || !maps.Equal(before.GetLabels(), now.GetLabels()) ||
		!equality.Semantic.DeepEqual(before.GetOwnerReferences(), now.GetOwnerReferences()) {
		return 0
	}
	return StatusDelay
}

// Deployment is like Child; the end of a rollout and the loss of a pod are urgent, too.
func Deployment(before, now client.Object) time.Duration {
	a, okA := before.(*appsv1.Deployment)
	b, okB := now.(*appsv1.Deployment)
	if okA && okB && turns(workload.OfDeployment(a), workload.OfDeployment(b)) {
		return 0
	}
	return Child(before, now)
}

// StatefulSet is like Deployment. Its pods are brought to a new template by the operator, so it is urgent as well when one
// of them gets there.
func StatefulSet(before, now client.Object) time.Duration {
	a, okA := before.(*appsv1.StatefulSet)
	b, okB := now.(*appsv1.StatefulSet)
	if okA && okB && (turns(workload.OfStatefulSet(a), workload.OfStatefulSet(b)) ||
		a.Status.UpdateRevision != b.Status.UpdateRevision ||
		b.Status.UpdatedReplicas < b.Status.Replicas && a.Status.ReadyReplicas != b.Status.ReadyReplicas) {
		return 0
	}
	return Child(before, now)
}

// turns tells whether a rollout has ended, or a pod is lost.
func turns(before, now *workload.Status) bool {
	return !before.Complete() && now.Complete() || now.LostPods(before)
}

// Pod is for pods: how many of them are ready, their Deployment or StatefulSet says as well.
func Pod(_, _ client.Object) time.Duration { return StatusDelay }

func hash(object client.Object) string { return object.GetAnnotations()[apply.HashAnnotation] }

// content returns what an object is about. The generation does not tell whether it has changed: some kinds have none,
// and that of a Deployment rises with annotations as well, one of which the Deployment controller writes at the
// beginning of each rollout.
func content(object client.Object) any {
	switch object := object.(type) {
	case *appsv1.Deployment:
		return object.Spec
	case *appsv1.StatefulSet:
		return object.Spec
	case *networkingv1.NetworkPolicy:
		return object.Spec
	case *corev1.Service:
		return object.Spec
	case *corev1.Secret:
		return object.Data
	case *networkingv1.Ingress:
		return object.Spec
	case *policyv1.PodDisruptionBudget:
		return object.Spec
	}
	return nil
}
