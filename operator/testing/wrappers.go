package testing

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

// Memcached builds a Memcached.
type Memcached struct{ object v1alpha1.Memcached }

// MakeMemcached starts a Memcached of the given name in the namespace default, of size 0 and generation 1.
func MakeMemcached(name string) *Memcached {
	return &Memcached{object: v1alpha1.Memcached{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.MemcachedKind},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Generation: 1},
	}}
}

// Namespace sets the namespace.
func (m *Memcached) Namespace(namespace string) *Memcached {
	m.object.Namespace = namespace
	return m
}

// UID sets the UID.
func (m *Memcached) UID(uid types.UID) *Memcached {
	m.object.UID = uid
	return m
}

// Generation sets the generation.
func (m *Memcached) Generation(generation int64) *Memcached {
	m.object.Generation = generation
	return m
}

// Size sets the number of nodes.
func (m *Memcached) Size(size int32) *Memcached {
	m.object.Spec.Size = size
	return m
}

// Status sets the status.
func (m *Memcached) Status(status v1alpha1.MemcachedStatus) *Memcached {
	m.object.Status = status
	return m
}

// Obj returns the Memcached.
func (m *Memcached) Obj() *v1alpha1.Memcached { return m.object.DeepCopy() }
