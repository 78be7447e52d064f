package desired

import (
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/owned"
)

// owner makes a cache the controller of an object.
func owner(memcached *v1alpha1.Memcached) *metav1ac.OwnerReferenceApplyConfiguration {
	return owned.OwnerReference(memcached, v1alpha1.GroupVersion.WithKind(v1alpha1.MemcachedKind))
}
