package workload

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// Status is a workload's own account of its pods.
type Status struct {
	// Name is that of the workload.
	Name string

	// Wanted is the number of pods that it asks for.
	Wanted int32

	// Replicas is the number of pods that exist, Updated those of the newest template, Ready those that are ready.
	Replicas, Updated, Ready int32

	// Observed is on when the account speaks of the newest spec.
	Observed bool

	// Paused is on when somebody has told Kubernetes to leave the pods alone.
	Paused bool

	// CreateFailure is why pods cannot be created, empty if they can.
	CreateFailure string

	// DeadlineExceeded is on when Kubernetes says that there has been no progress for too long.
	DeadlineExceeded bool
}

// OfDeployment returns the account of a Deployment, nil for none.
func OfDeployment(deployment *appsv1.Deployment) *Status {
	if deployment == nil {
		return nil
	}
	status := deployment.Status
	account := &Status{
		Name: deployment.Name, Wanted: ptr.Deref(deployment.Spec.Replicas, 1),
		Replicas: status.Replicas, Updated: status.UpdatedReplicas, Ready: status.ReadyReplicas,
		Observed: status.ObservedGeneration >= deployment.Generation, Paused: deployment.Spec.Paused,
	}
	for _, condition := range status.Conditions {
		switch {
		case condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue:
			account.CreateFailure = condition.Message
		case condition.Type == appsv1.DeploymentProgressing && condition.Status == corev1.ConditionFalse:
			account.DeadlineExceeded = condition.Reason == "ProgressDeadlineExceeded"
		}
	}
	return account
}

// OfStatefulSet returns the account of a StatefulSet, nil for none. It does not know of pods that cannot be created:
// see Refusal.
func OfStatefulSet(set *appsv1.StatefulSet) *Status {
	if set == nil {
		return nil
	}
	status := set.Status
	return &Status{
		Name: set.Name, Wanted: ptr.Deref(set.Spec.Replicas, 1),
		Replicas: status.Replicas, Updated: status.UpdatedReplicas, Ready: status.ReadyReplicas,
		Observed: status.ObservedGeneration >= set.Generation,
	}
}

// Complete tells whether a workload has nothing left to do: every pod that is wanted is of the newest template and ready,
// and there is no other.
func (a *Status) Complete() bool {
	return a.Observed && a.Replicas == a.Wanted && a.Updated == a.Wanted && a.Ready == a.Wanted
}

// LostPods tells whether a pod that is wanted was ready before, and is not any more.
func (a *Status) LostPods(before *Status) bool { return a.Ready < min(before.Ready, a.Wanted) }
