package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// UpdatePolicy says when the operator makes changes of its own that would lose items.
//
// +kubebuilder:validation:Enum=OnRelease;Automatic
type UpdatePolicy string

// The update policies.
const (
	// UpdateOnRelease: such a change waits for approval.
	UpdateOnRelease UpdatePolicy = "OnRelease"

	// UpdateAutomatic: such a change is made at once.
	UpdateAutomatic UpdatePolicy = "Automatic"
)

// MemcachedUpdates controls changes that would lose items and that the user did not ask for. They come with a new
// version of the operator, for example a new default version of memcached. Changes of the spec never wait.
type MemcachedUpdates struct {
	// Policy is OnRelease or Automatic. With OnRelease, such a change waits for approval, and the condition
	// UpdatePending is True. With Automatic, it is made at once, one pod at a time. Default: OnRelease.
	//
	// +optional
	Policy UpdatePolicy `json:"policy,omitempty"`

	// Release approves a pending change: set it to status.pending.id. A later change has another id and waits again.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Release string `json:"release,omitempty"`
}

// MemcachedHitRatioGate says when a replaced pod has filled up again. Its hit ratio over the last minute is compared
// with that of the pods that are still to be replaced. Without requests to compare, the update does not wait.
type MemcachedHitRatioGate struct {
	// RecoveredPercent is the hit ratio that a replaced pod must reach, in percent of that of the pods that are not yet
	// replaced. Range: 1 to 100. Default: 90.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= 1 && self <= 100",message="recoveredPercent must be a percentage: choose a number from 1 to 100"
	RecoveredPercent *int32 `json:"recoveredPercent,omitempty"`

	// Timeout is the longest time to wait before the next pod is replaced, for example 10m. Range: 1s to 24h. Default:
	// 10m.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="timeout must be a time from 1s to 24h (for example 10m)"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

// ClientCertificates says whether clients must present a certificate.
//
// +kubebuilder:validation:Enum=Required;Optional
type ClientCertificates string

// The values of ClientCertificates.
const (
	// ClientCertificatesRequired: a client without a certificate signed by the CA is refused.
	ClientCertificatesRequired ClientCertificates = "Required"

	// ClientCertificatesOptional: a client may connect without a certificate; one that is not signed by the CA is
	// refused.
	ClientCertificatesOptional ClientCertificates = "Optional"
)

// MemcachedTLS requires clients to use TLS; plain text is refused.
type MemcachedTLS struct {
	// SecretName is the name of a Secret in the same namespace with tls.crt, tls.key and ca.crt, as cert-manager creates
	// it. The certificate must be valid for <name>-nodes.<namespace>.svc, with workload StatefulSet also for
	// *.<name>-nodes.<namespace>.svc, and with clientCertificates also for client authentication, because the agent
	// presents it. A new certificate or CA is loaded without a restart; memcached trusts the previous CA until it
	// restarts.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="secretName must be the name of a Secret: use lower-case letters, digits, '-' and '.' (for example my-cache-tls)"
	SecretName string `json:"secretName"`

	// ClientCertificates says whether clients must present a certificate signed by the CA: Required or Optional.
	// Default: clients are not asked for one.
	//
	// +optional
	ClientCertificates ClientCertificates `json:"clientCertificates,omitempty"`
}

// MemcachedAuth requires clients to log in, with memcached's ASCII protocol.
type MemcachedAuth struct {
	// SecretName is the name of a Secret in the same namespace. Its key "users" has up to 8 lines name:password, each of
	// at most 254 bytes, without spaces, and with a newline at its end. Changes are loaded without a restart; open connections are not closed.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="secretName must be the name of a Secret: use lower-case letters, digits, '-' and '.' (for example my-cache-users)"
	SecretName string `json:"secretName"`
}

// MemcachedService is one address for all ready pods.
type MemcachedService struct {
	// Type is ClusterIP, NodePort or LoadBalancer. Default: ClusterIP.
	//
	// +optional
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	Type corev1.ServiceType `json:"type,omitempty"`

	// Annotations are annotations of the Service, for example for a load balancer. The administrator of the operator can
	// limit which ones.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('cache.example.com/'))",message="annotations must not have keys below cache.example.com, which the operator sets: rename them"
	Annotations map[string]string `json:"annotations,omitempty"`
}

// TopologyPreset is a common way to spread pods.
//
// +kubebuilder:validation:Enum=PreferHosts;RequireHosts;PreferZones;RequireZones;None
type TopologyPreset string

// The presets.
const (
	// TopologyPreferHosts spreads pods over nodes as far as possible.
	TopologyPreferHosts TopologyPreset = "PreferHosts"

	// TopologyRequireHosts keeps the number of pods on any two nodes equal to within one.
	TopologyRequireHosts TopologyPreset = "RequireHosts"

	// TopologyPreferZones spreads pods over zones, and over nodes, as far as possible.
	TopologyPreferZones TopologyPreset = "PreferZones"

	// TopologyRequireZones keeps the number of pods in any two zones equal to within one, and spreads pods over nodes
	// as far as possible.
	TopologyRequireZones TopologyPreset = "RequireZones"

	// TopologyNone leaves the choice to the scheduler.
	TopologyNone TopologyPreset = "None"
)

// MemcachedTopologySpread is either a preset or a list of constraints.
//
// +kubebuilder:validation:XValidation:rule="has(self.preset) != has(self.constraints)",message="topologySpread must have either preset or constraints: set one of them, and remove the other"
type MemcachedTopologySpread struct {
	// Preset is PreferHosts, RequireHosts, PreferZones, RequireZones or None.
	//
	// +optional
	Preset TopologyPreset `json:"preset,omitempty"`

	// Constraints are topology spread constraints of the pods. One without a labelSelector selects the pods of this
	// cache.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Constraints []corev1.TopologySpreadConstraint `json:"constraints,omitempty"`
}

// MemcachedScheduling controls which nodes the pods run on.
type MemcachedScheduling struct {
	// TopologySpread spreads the pods over nodes or zones. Default: over nodes, as far as possible.
	//
	// +optional
	TopologySpread *MemcachedTopologySpread `json:"topologySpread,omitempty"`

	// Affinity is the affinity of the pods.
	//
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// Tolerations are the tolerations of the pods.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// NodeSelector lists labels that a node must have to run the pods.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// PriorityClassName is the name of the PriorityClass of the pods.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`
}

// MemcachedDisruption limits evictions. It has an effect from size 2 on.
type MemcachedDisruption struct {
	// MaxUnavailable is the number of pods that may be unavailable because of evictions: a number from 1 on, or a
	// percentage of the size. Default: 1.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 : self.matches('^([1-9][0-9]?|100)%$')",message="maxUnavailable must let at least one node go: choose a number from 1 on, or a percentage from 1% to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

// MemcachedNetworkPolicy limits which clients can connect to memcached. The metrics port, 9150, stays open to all.
type MemcachedNetworkPolicy struct {
	// Clients are the peers that may connect to memcached, as in a NetworkPolicy. Default: all pods of the same
	// namespace.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Clients []networkingv1.NetworkPolicyPeer `json:"clients,omitempty"`
}

// MemcachedMonitoring configures how Prometheus finds the metrics.
type MemcachedMonitoring struct {
	// Labels are additional labels of the ServiceMonitor, for a Prometheus that selects by them (for example release:
	// prometheus).
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Labels map[string]string `json:"labels,omitempty"`
}
