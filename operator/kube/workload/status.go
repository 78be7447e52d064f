// Package workload describes the progress of a Deployment or StatefulSet. It is pure, and the only place that defines
// when a rollout is complete, because watches, status and the condition for OLM must agree on it.
package workload

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// Status is what a workload reports about its pods.
type Status struct {
	// Namespace and Name are those of the workload.
	Namespace, Name string

	// Wanted is spec.replicas.
	Wanted int32

	// Replicas is the number of pods, Updated that of pods with the latest template, Ready that of ready pods.
	Replicas, Updated, Ready int32

	// Observed is true if the status is about the latest spec.
	Observed bool

	// Paused is true if the rollout of a Deployment is paused.
	Paused bool

	// CreateFailure is why pods cannot be created, empty if they can.
	CreateFailure string

	// DeadlineExceeded is true if the rollout has exceeded its progress deadline.
	DeadlineExceeded bool
}

// OfDeployment returns the status of a Deployment, nil for none.
func OfDeployment(deployment *appsv1.Deployment) *Status {
	if deployment == nil {
		return nil
	}
	status := deployment.Status
	result := &Status{
		Namespace: deployment.Namespace, Name: deployment.Name, Wanted: ptr.Deref(deployment.Spec.Replicas, 1),
		Replicas: status.Replicas, Updated: status.UpdatedReplicas, Ready: status.ReadyReplicas,
		Observed: status.ObservedGeneration >= deployment.Generation, Paused: deployment.Spec.Paused,
	}
	for _, condition := range status.Conditions {
		switch {
		case condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue:
			result.CreateFailure = condition.Message
		case condition.Type == appsv1.DeploymentProgressing && condition.Status == corev1.ConditionFalse:
			result.DeadlineExceeded = condition.Reason == "ProgressDeadlineExceeded"
		}
	}
	return result
}

// OfStatefulSet returns the status of a StatefulSet, nil for none. CreateFailure is empty, because a StatefulSet does
// not report it: see function CreateFailure.
func OfStatefulSet(set *appsv1.StatefulSet) *Status {
	if set == nil {
		return nil
	}
	status := set.Status
	return &Status{
		Namespace: set.Namespace, Name: set.Name, Wanted: ptr.Deref(set.Spec.Replicas, 1),
		Replicas: status.Replicas, Updated: status.UpdatedReplicas, Ready: status.ReadyReplicas,
		Observed: status.ObservedGeneration >= set.Generation,
	}
}

// Complete tells whether the rollout is complete: the wanted number of pods exists, and all have the latest template
// and are ready.
func (s *Status) Complete() bool {
	return s.Observed && s.Replicas == s.Wanted && s.Updated == s.Wanted && s.Ready == s.Wanted
}

// LostPods tells whether fewer of the wanted pods are ready than before.
func (s *Status) LostPods(before *Status) bool { return s.Ready < min(before.Ready, s.Wanted) }
