package pending

import (
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// Template is a pod template as the operator applies it.
type Template = corev1ac.PodTemplateSpecApplyConfiguration

// Given is what the operator last gave a workload.
type Given struct {
	// Template is the pod template.
	Template *Template
	// Spec is the spec that the template was rendered for.
	Spec v1alpha1.MemcachedSpec
}

// Input is everything that a decision depends on.
type Input struct {
	// Given is what the workload has; nil if there is no workload yet.
	Given *Given
	// Spec is what the user wants now.
	Spec v1alpha1.MemcachedSpec
	// Render returns the template for a spec.
	Render func(v1alpha1.MemcachedSpec) (*Template, error)
	// Version returns the version of memcached in an image, empty if it is unknown.
	Version func(image string) string
	// Missing returns which of the images that pods of the cache are to get, given by the names of the containers, are missing on their
	// nodes. It is nil for a Deployment: Kubernetes itself replaces its pods.
	Missing func(images map[string]string) []Missing
	// Features are what the cluster can do.
	Features inputs.Features
}

// choseImage reports whether the user has changed the version or the image of memcached.
func (i Input) choseImage() bool {
	return i.Spec.Image != i.Given.Spec.Image || i.Spec.Version != i.Given.Spec.Version
}
