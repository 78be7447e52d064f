package workload

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/operator/kube/owned"
)

// Observed is what was found of the owned objects.
type Observed struct {
	// Deployment is the newest version known, nil when there is none, or it is not wanted.
	Deployment *appsv1.Deployment

	// StatefulSet is the newest version known, nil when there is none, or it is not wanted.
	StatefulSet *appsv1.StatefulSet

	// CreateFailure is why pods of the StatefulSet cannot be created, empty if none is missing or nobody has said why.
	CreateFailure string

	// Outgoing is what runs pods until something else has taken its place, nil if there is no such thing.
	Outgoing *Status

	// Pods are the pods of all of them, in alphabetical order.
	Pods []corev1.Pod

	// Present are those of the planned objects that exist and belong to the owner, in the order of the plan. Whether
	// they are as the plan wants them, it does not say.
	Present []owned.Reference
}

// Workload is how far the pods are that are wanted, nil when nothing runs them.
func (o Observed) Workload() *Status {
	if o.StatefulSet != nil {
		account := OfStatefulSet(o.StatefulSet)
		account.CreateFailure = o.CreateFailure
		return account
	}
	return OfDeployment(o.Deployment)
}

// Has tells whether one of the present objects is of the given kind and name.
func (o Observed) Has(kind, name string) bool {
	return slices.ContainsFunc(o.Present, func(r owned.Reference) bool { return r.Kind == kind && r.Name == name })
}
