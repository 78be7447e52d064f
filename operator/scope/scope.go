package scope

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

// MemcachedInputs is everything the desired state of a cache is computed from.
type MemcachedInputs struct {
	// Memcached is the object as the user wrote it. It is never changed.
	Memcached *v1alpha1.Memcached

	// Image is the memcached image that this release of the operator runs.
	Image string
}

// Configuration is a client-go apply configuration: the fields of one object that we have an opinion on.
type Configuration interface {
	runtime.ApplyConfiguration
	GetAPIVersion() *string
	GetKind() *string
	GetNamespace() *string
	GetName() *string
}

// Reference names one object.
type Reference struct {
	schema.GroupVersionKind
	Namespace string
	Name      string
}

// Plan is the desired state of everything that one object owns. It is complete: what was wanted before and is wanted no
// longer stands in Absent, so that a reader, and a test, can see it go.
type Plan struct {
	// Present are the objects that must exist, in the order in which they are applied.
	Present []Configuration

	// Absent are the objects that must not exist. Only objects that are owned are ever deleted.
	Absent []Reference
}

// Observed is what was found of the owned objects.
type Observed struct {
	// Deployment is the newest version known, nil when there is none.
	Deployment *appsv1.Deployment

	// Pods are the Deployment's pods, in alphabetical order.
	Pods []corev1.Pod
}
