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

// Identity is what tells the objects of one owner from those of another.
type Identity struct {
	// Name is the application, for example "memcached".
	Name string

	// Instance is the name of the owning object.
	Instance string

	// Component is the part that the object plays, for example "cache".
	Component string
}

// Selector returns the labels that select the pods. A Deployment's selector can never be changed, so these three are
// fixed for all versions to come. managed-by is one of them because Helm charts select by name and instance: without
// it, a chart's release of the same name in the same namespace would fight over our pods.
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

// SelectorString returns Selector in the form that kubectl's --selector and the scale subresource take. It is sorted.
func (id Identity) SelectorString() string {
	return k8slabels.Set(id.Selector()).String()
}

// ManagedSelector selects every object that the operator owns. The operator's caches hold nothing else.
func ManagedSelector() k8slabels.Selector {
	return k8slabels.SelectorFromSet(k8slabels.Set{LabelManagedBy: Manager})
}
