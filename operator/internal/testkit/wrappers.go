package testkit

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/example/memcached-operator/operator/api/app/v1alpha1"
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

// Size sets the number of pods.
func (m *Memcached) Size(size int32) *Memcached {
	m.object.Spec.Size = size
	return m
}

// Spec changes the spec.
func (m *Memcached) Spec(change func(*v1alpha1.MemcachedSpec)) *Memcached {
	change(&m.object.Spec)
	return m
}

// Status sets the status.
func (m *Memcached) Status(status v1alpha1.MemcachedStatus) *Memcached {
	m.object.Status = status
	return m
}

// Obj returns the Memcached.
func (m *Memcached) Obj() *v1alpha1.Memcached { return m.object.DeepCopy() }

// Application builds an Application.
type Application struct{ object appv1alpha1.Application }

// MakeApplication starts an Application of the given name in the namespace default, of one replica, generation 1, and
// an image that does not exist, on the port 8080.
func MakeApplication(name string) *Application {
	return &Application{object: appv1alpha1.Application{
		TypeMeta:   metav1.TypeMeta{APIVersion: appv1alpha1.GroupVersion.String(), Kind: appv1alpha1.ApplicationKind},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Generation: 1},
		Spec: appv1alpha1.ApplicationSpec{
			Image: "registry.example.com/web:1", Replicas: ptr.To[int32](1), Port: 8080,
		},
	}}
}

// Namespace sets the namespace.
func (a *Application) Namespace(namespace string) *Application {
	a.object.Namespace = namespace
	return a
}

// Created sets the time of creation.
func (a *Application) Created(at metav1.Time) *Application {
	a.object.CreationTimestamp = at
	return a
}

// Replicas sets the number of pods.
func (a *Application) Replicas(replicas int32) *Application {
	a.object.Spec.Replicas = ptr.To(replicas)
	return a
}

// Env adds an environment variable.
func (a *Application) Env(name, value string) *Application {
	a.object.Spec.Env = append(a.object.Spec.Env, appv1alpha1.EnvVar{Name: name, Value: value})
	return a
}

// Ingress sets the host of the ingress, its path and its class.
func (a *Application) Ingress(host, path, class string) *Application {
	a.object.Spec.Ingress = &appv1alpha1.IngressSpec{Host: host, Path: path, ClassName: class}
	return a
}

// Claims makes the status say that the Application has the host and path of its ingress since a time.
func (a *Application) Claims(since metav1.Time) *Application {
	ingress := a.object.Spec.Ingress
	a.object.Status.IngressClaim = &appv1alpha1.IngressClaim{Host: ingress.Host, Path: cmp.Or(ingress.Path, "/"), Since: metav1.NewMicroTime(since.Time)}
	return a
}

// Caches sets the caches.
func (a *Application) Caches(names ...string) *Application {
	a.object.Spec.Caches = nil
	for _, name := range names {
		a.object.Spec.Caches = append(a.object.Spec.Caches, appv1alpha1.CacheReference{Name: name})
	}
	return a
}

// Spec changes the spec.
func (a *Application) Spec(change func(*appv1alpha1.ApplicationSpec)) *Application {
	change(&a.object.Spec)
	return a
}

// Change changes any other field.
func (a *Application) Change(change func(*appv1alpha1.Application)) *Application {
	change(&a.object)
	return a
}

// Obj returns the Application.
func (a *Application) Obj() *appv1alpha1.Application { return a.object.DeepCopy() }
