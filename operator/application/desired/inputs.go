package desired

import (
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/pod-security-admission/api"

	appv1alpha1 "github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

// Inputs is what the desired state of an Application is computed from.
type Inputs struct {
	// Application is the object. It is never changed.
	Application *appv1alpha1.Application

	// Ingress is the Application's own Ingress, nil if it has none.
	Ingress *networkingv1.Ingress

	// Rivals are the other Applications whose address is in conflict with the one that this one wants.
	Rivals []Rival

	// Caches are the listed Memcacheds that exist, in the order of the spec.
	Caches []v1alpha1.Memcached

	// PodSecurity is the level of the pod security standards that the pods have to meet. Default: baseline.
	PodSecurity api.Level
}
