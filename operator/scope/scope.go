package scope

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/change"
	"github.com/example/memcached-operator/operator/rollout"
)

// MemcachedInputs is everything the desired state of a cache is computed from.
type MemcachedInputs struct {
	// Memcached is the object as the user wrote it. It is never changed.
	Memcached *v1alpha1.Memcached

	// Images are what there is to run.
	Images Images

	// Features are what the cluster can do.
	Features Features

	// Deployment and StatefulSet are what runs the cache; nil if there is none. Both are there while the cache moves from
	// one to the other.
	Deployment, StatefulSet *Workload

	// Certificate and Users are the Secrets that the spec names; nil if there is none of that name.
	Certificate, Users *corev1.Secret

	// Now is the time at which a certificate has to be valid.
	Now time.Time
}

// Features are what the cluster can do.
type Features struct {
	change.Features

	// ServiceMonitors is on where the Prometheus operator's kind ServiceMonitor exists.
	ServiceMonitors bool
}

// Workload is what the operator last gave a Deployment or StatefulSet.
type Workload struct {
	// Template is the pod template as it was applied.
	Template *corev1ac.PodTemplateSpecApplyConfiguration

	// Spec is the part of the cache's spec that the template was made for.
	Spec v1alpha1.MemcachedSpec

	// Settled is on when there are as many nodes as the cache's spec wants, all ready and of the template.
	Settled bool
}

// Images are what nodes can be made of.
type Images struct {
	// Memcached maps the versions of memcached that this release of the operator knows to their images.
	Memcached map[string]string

	// Default is the version that caches run unless their spec says otherwise.
	Default string

	// Agent is the image of what runs beside memcached, empty if it is not known.
	Agent string
}

// VersionOf returns the version of memcached in an image, empty if it is none of those that the operator knows.
func (i Images) VersionOf(image string) string {
	for version, known := range i.Memcached {
		if known == image {
			return version
		}
	}
	return ""
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

	// Kept are objects that are left as they are until others have taken their place.
	Kept []Reference

	// Absent are the objects that must not exist. Only objects that are owned are ever deleted.
	Absent []Reference
}

// Observed is what was found of the owned objects.
type Observed struct {
	// Deployment is the newest version known, nil when there is none, or it is not wanted.
	Deployment *appsv1.Deployment

	// StatefulSet is the newest version known, nil when there is none, or it is not wanted.
	StatefulSet *appsv1.StatefulSet

	// Refusal is why pods of the StatefulSet cannot be created, empty if none is missing or nobody has said why.
	Refusal string

	// Leaving is what runs pods until something else has taken its place, nil if there is no such thing.
	Leaving *rollout.Account

	// Pods are the pods of all of them, in alphabetical order.
	Pods []corev1.Pod

	// Present are those of the planned objects that exist and belong to the owner, in the order of the plan. Whether
	// they are as the plan wants them, it does not say.
	Present []Reference
}

// Rollout is how far the pods are that are wanted, nil when nothing runs them.
func (o Observed) Rollout() *rollout.Account {
	if o.StatefulSet != nil {
		account := rollout.OfStatefulSet(o.StatefulSet)
		account.Refusal = o.Refusal
		return account
	}
	return rollout.OfDeployment(o.Deployment)
}

// Has tells whether one of the present objects is of the given kind and name.
func (o Observed) Has(kind, name string) bool {
	return slices.ContainsFunc(o.Present, func(r Reference) bool { return r.Kind == kind && r.Name == name })
}
