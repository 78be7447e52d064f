package memcached

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/desired/meta"
	"github.com/example/memcached-operator/operator/scope"
)

// service gives the nodes one DNS name. It is headless: memcached's clients spread keys over the nodes themselves, so
// they need the address of each.
func service(in scope.MemcachedInputs) *corev1ac.ServiceApplyConfiguration {
	memcached, id := in.Memcached, Identity(in.Memcached)
	return corev1ac.Service(ServiceName(memcached.Name), memcached.Namespace).
		WithLabels(id.Labels()).
		WithOwnerReferences(meta.OwnerReference(memcached, v1alpha1.GroupVersion.WithKind(v1alpha1.MemcachedKind))).
		WithSpec(corev1ac.ServiceSpec().
			WithType(corev1.ServiceTypeClusterIP).
			WithClusterIP(corev1.ClusterIPNone).
			WithSelector(id.Selector()).
			// A node that fails its probe for a moment keeps its place: every change to the list of nodes makes clients
			// look for most of their keys on other nodes than before.
			WithPublishNotReadyAddresses(true).
			WithPorts(corev1ac.ServicePort().
				WithName(PortName).
				WithPort(Port).
				WithTargetPort(intstr.FromString(PortName)).
				WithProtocol(corev1.ProtocolTCP)))
}
