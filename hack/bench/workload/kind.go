// Package workload says what a benchmark creates: custom resources of each kind, the Secrets that they name, and what a bare client has to
// write for them, which it learns from the operator.
package workload

import (
	"fmt"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

// Resource is a custom resource.
type Resource interface {
	client.Object
	GetConditions() []metav1.Condition
}

// Kind is a kind of custom resource with all that a round of it needs.
type Kind struct {
	// Name is what flags call it.
	Name string

	// Describe says what it is, in the table.
	Describe string

	// Workload is the resource of the object that runs its pods: deployments or statefulsets.
	Workload string

	// Resource is the plural of the custom resource.
	Resource string

	// New makes one with a number of pods.
	New func(namespace, name string, size int32) Resource

	// Size is the number of pods of one in a burst.
	Size int32

	// Field is the field of the spec with the number of pods.
	Field string

	// Secrets is true if New names Secrets, which have to be there.
	Secrets bool
}

// The kinds that can be measured.
var (
	Deployment = Kind{
		Name: "deployment", Describe: "Memcached, Deployment", Workload: "deployments", Resource: "memcacheds", Field: "size", Size: 1, New: newCache,
	}
	StatefulSet = Kind{
		Name: "statefulset", Describe: "Memcached, StatefulSet with everything on", Workload: "statefulsets", Resource: "memcacheds", Field: "size", Size: 2,
		New: newFullCache, Secrets: true,
	}
	Application = Kind{
		Name: "application", Describe: "Application with ingress", Workload: "deployments", Resource: "applications", Field: "replicas", Size: 1, New: newApplication,
	}
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{Deployment, StatefulSet, Application} }

// KindOf returns the kind that a flag names.
func KindOf(name string) (Kind, error) {
	kinds := Kinds()
	index := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == name })
	if index < 0 {
		var names []string
		for _, kind := range kinds {
			names = append(names, kind.Name)
		}
		return Kind{}, fmt.Errorf("there is no kind %q: choose one of %s", name, strings.Join(names, ", "))
	}
	return kinds[index], nil
}

// Scale returns the change that gives a custom resource so many pods more than it was made with.
func (k Kind) Scale(more int32) client.Patch {
	return client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{%q:%d}}`, k.Field, k.Size+more))
}

// Name and Namespace return names that all have the same length, so that one can replace another in encoded objects.
func Name(number int) string { return fmt.Sprintf("cache-%06d", number) }

// Namespace returns the name of a namespace.
func Namespace(number int) string { return fmt.Sprintf("bench-%04d", number) }

func newCache(namespace, name string, size int32) Resource {
	return &v1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1alpha1.MemcachedSpec{Size: size},
	}
}

func newFullCache(namespace, name string, size int32) Resource {
	return &v1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.MemcachedSpec{
			Size: size, Workload: v1alpha1.WorkloadStatefulSet, WarmRestart: true,
			TLS:           &v1alpha1.MemcachedTLS{SecretName: certificateName(name)},
			Auth:          &v1alpha1.MemcachedAuth{SecretName: usersName},
			Service:       &v1alpha1.MemcachedService{},
			Disruption:    &v1alpha1.MemcachedDisruption{MaxUnavailable: ptr.To(intstr.FromInt32(1))},
			NetworkPolicy: &v1alpha1.MemcachedNetworkPolicy{Clients: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}},
			Monitoring:    &v1alpha1.MemcachedMonitoring{},
		},
	}
}

func newApplication(namespace, name string, size int32) Resource {
	return &appv1alpha1.Application{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: appv1alpha1.ApplicationSpec{
			Image: "registry.example.com/web:1", Replicas: ptr.To(size), Port: 8080,
			Ingress: &appv1alpha1.IngressSpec{Host: name + ".example.com", ClassName: "nginx"},
		},
	}
}
