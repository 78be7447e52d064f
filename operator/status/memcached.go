package status

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/scope"
)

// Input is everything that the status of a cache is computed from.
type Input struct {
	// Memcached is the object whose status is computed. It is never changed. Its old status serves only to keep the time
	// of a condition's last transition, and conditions that others have added.
	Memcached *v1alpha1.Memcached

	// Observed is what was found of the cache's objects.
	Observed scope.Observed

	// Selector selects the cache's pods.
	Selector string

	// Err is what the pass ended with, nil when it did all it had to.
	Err error

	// Now is the time of conditions that change.
	Now metav1.Time
}

// Memcached computes the status of a cache.
func Memcached(in Input) v1alpha1.MemcachedStatus {
	next := *in.Memcached.Status.DeepCopy()
	if in.Err == nil {
		next.ObservedGeneration = in.Memcached.Generation
	}
	next.Selector = in.Selector
	next.Nodes = nodes(in.Observed.Pods)
	next.Replicas, next.ReadyReplicas = 0, 0
	if deployment := in.Observed.Deployment; deployment != nil {
		next.Replicas, next.ReadyReplicas = deployment.Status.Replicas, deployment.Status.ReadyReplicas
	}
	degraded, progressing := degraded(in), progressing(in)
	for _, condition := range []metav1.Condition{
		ready(in, degraded, progressing), available(in), progressing, degraded,
	} {
		condition.ObservedGeneration = in.Memcached.Generation
		condition.LastTransitionTime = in.Now
		meta.SetStatusCondition(&next.Conditions, condition)
	}
	return next
}

// nodes returns the names of the pods that run memcached or are about to. The pods are in alphabetical order.
func nodes(pods []corev1.Pod) []string {
	var names []string
	for i := range pods {
		if isNode(&pods[i]) {
			names = append(names, pods[i].Name)
		}
	}
	return names
}

// isNode tells whether a pod counts: it is neither being deleted nor has it ended for good.
func isNode(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp.IsZero() && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// ready summarises the other conditions: what is wrong comes before what is under way.
func ready(in Input, degraded, progressing metav1.Condition) metav1.Condition {
	condition := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse}
	switch {
	case degraded.Status == metav1.ConditionTrue:
		condition.Reason, condition.Message = degraded.Reason, degraded.Message
	case progressing.Status == metav1.ConditionTrue:
		condition.Reason, condition.Message = progressing.Reason, progressing.Message
	case in.Memcached.Spec.Size == 0:
		condition.Status, condition.Reason = metav1.ConditionTrue, v1alpha1.ReasonScaledToZero
		condition.Message = "No node is wanted, and none runs"
	default:
		condition.Status, condition.Reason = metav1.ConditionTrue, v1alpha1.ReasonAllNodesReady
		condition.Message = fmt.Sprintf("%s ready", count(readyNodes(in), in.Memcached.Spec.Size))
	}
	return condition
}

func available(in Input) metav1.Condition {
	condition := metav1.Condition{Type: v1alpha1.ConditionAvailable, Status: metav1.ConditionTrue}
	size, ready := in.Memcached.Spec.Size, readyNodes(in)
	condition.Message = fmt.Sprintf("%s ready", count(ready, size))
	switch {
	case size == 0:
		condition.Reason, condition.Message = v1alpha1.ReasonScaledToZero, "No node is wanted"
	case ready == 0:
		condition.Status, condition.Reason = metav1.ConditionFalse, v1alpha1.ReasonNoNodeReady
	case ready < size:
		condition.Reason = v1alpha1.ReasonSomeNodesReady
	default:
		condition.Reason = v1alpha1.ReasonAllNodesReady
	}
	return condition
}

// progressing looks at the Deployment's own account of its rollout. The pods have to agree, because both are watched
// separately, and a status must not list five nodes while it says that the three wanted are ready.
func progressing(in Input) metav1.Condition {
	condition := metav1.Condition{Type: v1alpha1.ConditionProgressing, Status: metav1.ConditionTrue}
	size, ready := in.Memcached.Spec.Size, readyNodes(in)
	deployment := in.Observed.Deployment
	switch {
	case in.Err != nil && deployment == nil:
		condition.Status, condition.Reason = metav1.ConditionFalse, reasonOf(in.Err)
		condition.Message = messageOf(in.Err)
	case deployment == nil:
		condition.Reason, condition.Message = v1alpha1.ReasonNodesStarting, "The nodes are about to be created"
	case !seen(deployment):
		condition.Reason, condition.Message = unseenReason(deployment, size), "Kubernetes has yet to act on the newest change"
	case deployment.Status.UpdatedReplicas < min(deployment.Status.Replicas, size):
		condition.Reason = v1alpha1.ReasonNodesUpdating
		condition.Message = fmt.Sprintf("%s replaced", count(deployment.Status.UpdatedReplicas, size))
	case deployment.Status.Replicas > size || len(nodes(in.Observed.Pods)) > int(size):
		condition.Reason = v1alpha1.ReasonNodesStopping
		condition.Message = fmt.Sprintf("Stopping what is more than the %d wanted", size)
	case ready < size || len(nodes(in.Observed.Pods)) < int(size):
		condition.Reason = v1alpha1.ReasonNodesStarting
		condition.Message = fmt.Sprintf("%s ready", count(ready, size))
	default:
		condition.Status, condition.Reason = metav1.ConditionFalse, v1alpha1.ReasonAsExpected
		condition.Message = "Nothing is being changed"
	}
	return condition
}

// unseenReason guesses what the Deployment controller is going to do.
func unseenReason(deployment *appsv1.Deployment, size int32) string {
	switch {
	case deployment.Status.Replicas < size:
		return v1alpha1.ReasonNodesStarting
	case deployment.Status.Replicas > size:
		return v1alpha1.ReasonNodesStopping
	}
	return v1alpha1.ReasonNodesUpdating
}

// seen tells whether the Deployment's status speaks of its newest spec.
func seen(deployment *appsv1.Deployment) bool {
	return deployment.Status.ObservedGeneration >= deployment.Generation
}

func readyNodes(in Input) int32 {
	return ptr.Deref(in.Observed.Deployment, appsv1.Deployment{}).Status.ReadyReplicas
}

// count says "2 of 3 nodes are" or "1 of 1 node is". Nodes beyond those wanted do not count.
func count(some, all int32) string {
	some = min(some, all)
	if all == 1 {
		return fmt.Sprintf("%d of 1 node is", some)
	}
	return fmt.Sprintf("%d of %d nodes are", some, all)
}
