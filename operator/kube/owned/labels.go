package owned

import (
	"maps"

	k8slabels "k8s.io/apimachinery/pkg/labels"
)

// The labels on every owned object, as recommended by Kubernetes
// (https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/).
const (
	LabelName      = "app.kubernetes.io/name"
	LabelInstance  = "app.kubernetes.io/instance"
	LabelComponent = "app.kubernetes.io/component"
	LabelPartOf    = "app.kubernetes.io/part-of"
	LabelManagedBy = "app.kubernetes.io/managed-by"
)

// Identity distinguishes the objects of one owner from those of others.
type Identity struct {
	// Name is the application, for example "memcached".
	Name string

	// Instance is the name of the owning object.
	Instance string

	// Component is the role of the objects, for example "cache".
	Component string
}

// Selector returns the labels that select the pods. The selector of a Deployment is immutable, so these three labels
// stay the same in all versions. managed-by is one of them because Helm charts select by name and instance: without it,
// a chart release of the same name in the same namespace would select these pods as well.
func (id Identity) Selector() map[string]string {
	return map[string]string{
		LabelName:      id.Name,
		LabelInstance:  id.Instance,
		LabelManagedBy: Manager,
	}
}

// Labels returns all labels of an owned object and its pods.
func (id Identity) Labels() map[string]string {
	labels := maps.Clone(id.Selector())
	labels[LabelComponent] = id.Component
	labels[LabelPartOf] = id.Instance
	return labels
}

// SelectorString returns Selector as a sorted string, for kubectl --selector and the scale subresource.
func (id Identity) SelectorString() string {
	return k8slabels.Set(id.Selector()).String()
}

// ManagedSelector selects every object that the operator owns. The operator caches no others.
func ManagedSelector() k8slabels.Selector {
	return k8slabels.SelectorFromSet(k8slabels.Set{LabelManagedBy: Manager})
}
