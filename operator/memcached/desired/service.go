package desired

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
	"github.com/example/memcached-operator/operator/memcached/args"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// headlessService gives all pods one DNS name, and each pod of a StatefulSet its own. It is headless because memcached's
// clients spread keys over the pods themselves, so they need the address of each.
func headlessService(in inputs.Inputs) *corev1ac.ServiceApplyConfiguration {
	memcached, id := in.Memcached, Identity(in.Memcached)
	spec := corev1ac.ServiceSpec().
		WithType(corev1.ServiceTypeClusterIP).
		WithClusterIP(corev1.ClusterIPNone).
		WithSelector(id.Selector()).
		// A pod that fails its probe for a moment stays in DNS: every change to the list of pods makes clients look for
		// most of their keys on other pods than before.
		WithPublishNotReadyAddresses(true).
		WithPorts(memcachedPort())
	if hasAgents(in) {
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

// service gives all ready pods one address.
func service(in inputs.Inputs) *corev1ac.ServiceApplyConfiguration {
	memcached, id, spec := in.Memcached, Identity(in.Memcached), in.Memcached.Spec.Service
	configuration := corev1ac.Service(memcached.Name, memcached.Namespace).
		WithLabels(id.Labels()).
		WithOwnerReferences(owner(memcached)).
		WithSpec(corev1ac.ServiceSpec().
			WithType(cmp.Or(spec.Type, corev1.ServiceTypeClusterIP)).
			WithSelector(id.Selector()).
			WithPorts(memcachedPort()))
	if in.AgentRestarts {
		// The kubelet reports a pod as not ready while its agent restarts, and memcached serves clients meanwhile.
		configuration.Spec.WithPublishNotReadyAddresses(true)
	}
	if len(spec.Annotations) > 0 {
		configuration.WithAnnotations(spec.Annotations)
	}
	return configuration
}

// checkAnnotations returns which annotations of the Service the administrator does not allow: controllers of a cluster give a Service
// DNS names and load balancers by them.
func checkAnnotations(in inputs.Inputs) error {
	wanted := ptr.Deref(in.Memcached.Spec.Service, v1alpha1.MemcachedService{}).Annotations
	refused := slices.DeleteFunc(slices.Sorted(maps.Keys(wanted)), in.ServiceAnnotations.Allow)
	if len(refused) == 0 {
		return nil
	}
	return reconcileerror.Terminal(v1alpha1.ReasonAnnotationNotAllowed, fmt.Errorf(
		"spec.service.annotations: MEMCACHED_SERVICE_ANNOTATIONS of the operator does not allow %s: remove what is not allowed, or ask "+
			"the administrator to allow it. The Service and the pods stay as they are", strings.Join(refused, ", ")))
}

func memcachedPort() *corev1ac.ServicePortApplyConfiguration {
	return corev1ac.ServicePort().
		WithName(pod.PortName).
		WithPort(args.Port).
		WithTargetPort(intstr.FromString(pod.PortName)).
		WithProtocol(corev1.ProtocolTCP)
}
