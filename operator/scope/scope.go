package scope

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

// MemcachedInputs is everything the desired state of a cache is computed from.
type MemcachedInputs struct {
	// Memcached is the object as the user wrote it. It is never changed.
	Memcached *v1alpha1.Memcached

	// Image is the memcached image that this release of the operator runs.
	Image string
}

// ApplicationInputs is everything the desired state of an Application is computed from.
type ApplicationInputs struct {
	// Application is the object as the user wrote it. It is never changed.
	Application *appv1alpha1.Application

	// Claimants are the other Applications, of any namespace, whose ingress has the same address.
	Claimants []appv1alpha1.Application

	// Caches are those of the named Memcacheds that exist, in the order of the spec.
	Caches []v1alpha1.Memcached
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

// ReferenceTo names the object that a configuration is for.
func ReferenceTo(configuration Configuration) Reference {
	return Reference{
		GroupVersionKind: schema.FromAPIVersionAndKind(
			ptr.Deref(configuration.GetAPIVersion(), ""), ptr.Deref(configuration.GetKind(), "")),
		Namespace: ptr.Deref(configuration.GetNamespace(), ""),
		Name:      ptr.Deref(configuration.GetName(), ""),
	}
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

	// Present are those of the planned objects that exist and belong to the owner, in the order of the plan. Whether
	// they are as the plan wants them, it does not say.
	Present []Reference
}

// Has tells whether one of the present objects is of the given kind and name.
func (o Observed) Has(kind, name string) bool {
	return slices.ContainsFunc(o.Present, func(r Reference) bool { return r.Kind == kind && r.Name == name })
}
