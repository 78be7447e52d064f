package workload

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/operator/kube/owned"
)

// Observed is the state of an owner's objects in the cluster.
type Observed struct {
	// Deployment is the latest version, nil if there is none or it is not wanted.
	Deployment *appsv1.Deployment

	// StatefulSet is the latest version, nil if there is none or it is not wanted.
	StatefulSet *appsv1.StatefulSet

	// CreateFailure is why pods of the StatefulSet cannot be created, empty if none is missing or the cause is unknown.
	CreateFailure string

	// Outgoing is the workload that is being replaced and still runs pods, nil if there is none.
	Outgoing *Status

	// Pods are the pods of all workloads, in alphabetical order.
	Pods []corev1.Pod

	// Present lists the planned objects that exist and belong to the owner, in the order of the plan. They may differ
	// from the plan.
	Present []owned.Reference
}

// Workload returns the status of the wanted workload, nil if there is none.
func (o Observed) Workload() *Status {
	if o.StatefulSet != nil {
		status := OfStatefulSet(o.StatefulSet)
		status.CreateFailure = o.CreateFailure
		return status
	}
	return OfDeployment(o.Deployment)
}

// Has tells whether Present contains an object of the given kind and name.
func (o Observed) Has(kind, name string) bool {
	return slices.ContainsFunc(o.Present, func(r owned.Reference) bool { return r.Kind == kind && r.Name == name })
}
