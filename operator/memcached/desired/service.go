package desired

import (
	agentapi "github.com/example/memcached-operator/operator/agent/api"

	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/example/memcached-operator/operator/memcached/args"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// headlessService gives the nodes one DNS name, and each slot of a StatefulSet its own. It is headless: memcached's clients
// spread keys over the nodes themselves, so they need the address of each.
func headlessService(in inputs.Inputs) *corev1ac.ServiceApplyConfiguration {
	memcached, id := in.Memcached, Identity(in.Memcached)
	spec := corev1ac.ServiceSpec().
		WithType(corev1.ServiceTypeClusterIP).
		WithClusterIP(corev1.ClusterIPNone).
		WithSelector(id.Selector()).
		// A node that fails its probe for a moment keeps its place: every change to the list of nodes makes clients
		// look for most of their keys on other nodes than before.
		WithPublishNotReadyAddresses(true).
		WithPorts(memcachedPort())
	if inputs.NeedsAgent(memcached.Spec) {
		spec.WithPorts(corev1ac.ServicePort().
			WithName(agentapi.MetricsPortName).
			WithPort(agentapi.MetricsPort).
			WithTargetPort(intstr.FromString(agentapi.MetricsPortName)).
			WithProtocol(corev1.ProtocolTCP))
	}
	return corev1ac.Service(ServiceName(memcached.Name), memcached.Namespace).
		WithLabels(id.Labels()).
		WithOwnerReferences(owner(memcached)).
		WithSpec(spec)
}

// service is one address for all ready nodes.
func service(in inputs.Inputs) *corev1ac.ServiceApplyConfiguration {
	memcached, id, wish := in.Memcached, Identity(in.Memcached), in.Memcached.Spec.Service
	configuration := corev1ac.Service(memcached.Name, memcached.Namespace).
		WithLabels(id.Labels()).
		WithOwnerReferences(owner(memcached)).
		WithSpec(corev1ac.ServiceSpec().
			WithType(cmp.Or(wish.Type, corev1.ServiceTypeClusterIP)).
			WithSelector(id.Selector()).
			WithPorts(memcachedPort()))
	if len(wish.Annotations) > 0 {
		configuration.WithAnnotations(wish.Annotations)
	}
	return configuration
}

func memcachedPort() *corev1ac.ServicePortApplyConfiguration {
	return corev1ac.ServicePort().
		WithName(pod.PortName).
		WithPort(args.Port).
		WithTargetPort(intstr.FromString(pod.PortName)).
		WithProtocol(corev1.ProtocolTCP)
}
