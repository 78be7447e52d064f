package desired

import (
	appv1alpha1 "github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

// Inputs is what the desired state of an Application is computed from.
type Inputs struct {
	// Application is the object. It is never changed.
	Application *appv1alpha1.Application

	// Claimants are the other Applications, of any namespace, whose ingress has the same address.
	Claimants []appv1alpha1.Application

	// Caches are the listed Memcacheds that exist, in the order of the spec.
	Caches []v1alpha1.Memcached
}
