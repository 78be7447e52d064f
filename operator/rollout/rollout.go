package rollout

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"
)

// Wanted returns the number of pods that a Deployment asks for.
func Wanted(deployment *appsv1.Deployment) int32 { return ptr.Deref(deployment.Spec.Replicas, 1) }

// Seen tells whether a Deployment's status speaks of its newest spec.
func Seen(deployment *appsv1.Deployment) bool {
	return deployment.Status.ObservedGeneration >= deployment.Generation
}

// Settled tells whether a Deployment has nothing left to do: every pod that is wanted is of the newest template and
// ready, and there is no other.
func Settled(deployment *appsv1.Deployment) bool {
	wanted, status := Wanted(deployment), deployment.Status
	return Seen(deployment) &&
		status.Replicas == wanted && status.UpdatedReplicas == wanted && status.ReadyReplicas == wanted
}

// Lost tells whether a pod that is wanted was ready, and is not any more.
func Lost(before, now *appsv1.Deployment) bool {
	return now.Status.ReadyReplicas < min(before.Status.ReadyReplicas, Wanted(now))
}
