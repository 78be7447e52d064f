package desired

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/memcached/args"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// networkPolicy lets clients connect to memcached, and everybody read metrics: the operator and Prometheus read them from
// namespaces that are not known here, and they show no item. Probes come from the node, which policies always allow.
func networkPolicy(in inputs.Inputs) *networkingv1ac.NetworkPolicyApplyConfiguration {
	memcached, id := in.Memcached, Identity(in.Memcached)
	clients := networkingv1ac.NetworkPolicyIngressRule().WithPorts(port(args.Port))
	for _, client := range memcached.Spec.NetworkPolicy.Clients {
		clients.WithFrom(owned.Convert[networkingv1ac.NetworkPolicyPeerApplyConfiguration](client))
	}
	if len(clients.From) == 0 {
		clients.WithFrom(networkingv1ac.NetworkPolicyPeer().WithPodSelector(metav1ac.LabelSelector()))
	}
	spec := networkingv1ac.NetworkPolicySpec().
		WithPodSelector(metav1ac.LabelSelector().WithMatchLabels(id.Selector())).
		WithPolicyTypes(networkingv1.PolicyTypeIngress).
		WithIngress(clients)
	if hasAgents(in) {
		spec.WithIngress(networkingv1ac.NetworkPolicyIngressRule().WithPorts(port(agentapi.MetricsPort)))
	}
	return networkingv1ac.NetworkPolicy(memcached.Name, memcached.Namespace).
		WithLabels(id.Labels()).
		WithOwnerReferences(owner(memcached)).
		WithSpec(spec)
}

func port(number int32) *networkingv1ac.NetworkPolicyPortApplyConfiguration {
	return networkingv1ac.NetworkPolicyPort().WithPort(intstr.FromInt32(number)).WithProtocol(corev1.ProtocolTCP)
}
