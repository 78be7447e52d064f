package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// UpdatePolicy says when the operator makes changes of its own that lose items.
//
// +kubebuilder:validation:Enum=OnRelease;Automatic
type UpdatePolicy string

// The update policies.
const (
	// UpdateOnRelease: such a change waits until it is released.
	UpdateOnRelease UpdatePolicy = "OnRelease"

	// UpdateAutomatic: such a change is made like any other.
	UpdateAutomatic UpdatePolicy = "Automatic"
)

// MemcachedUpdates say what happens to changes that lose items and that the user did not ask for: those that come with a
// new version of the operator, such as its default version of memcached. What the user changes in the spec never waits.
type MemcachedUpdates struct {
	// Policy is OnRelease, which is also what its absence means: such a change waits, and the condition UpdatePending shows
	// it. Automatic makes it at once, node by node.
	//
	// +optional
	Policy UpdatePolicy `json:"policy,omitempty"`

	// Release is the id of the change that may be made, from status.pending.id. Another change that comes later waits again.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Release string `json:"release,omitempty"`
}

// MemcachedHitRatioGate says when a node that was replaced has filled up again: its hit ratio over the last minute is
// compared with that of the nodes that are still to follow. Without requests to compare, nothing waits.
type MemcachedHitRatioGate struct {
	// RecoveredPercent is how much of their hit ratio it has to reach, in percent. Without it, 90.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= 1 && self <= 100",message="recoveredPercent must be a percentage: choose a number from 1 to 100"
	RecoveredPercent *int32 `json:"recoveredPercent,omitempty"`

	// Timeout is how long to wait for that at most before the next node follows, for example 10m. Without it, 10m.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="timeout must be a time from 1s to 24h (for example 10m)"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

// ClientCertificates says whether clients have to show a certificate.
//
// +kubebuilder:validation:Enum=Required;Optional
type ClientCertificates string

// Whether clients have to show a certificate.
const (
	// ClientCertificatesRequired: who shows none, or one that the CA has not signed, is refused.
	ClientCertificatesRequired ClientCertificates = "Required"

	// ClientCertificatesOptional: who shows one that the CA has not signed is refused; who shows none is not.
	ClientCertificatesOptional ClientCertificates = "Optional"
)

// MemcachedTLS makes clients use TLS; plain text is refused.
type MemcachedTLS struct {
	// SecretName is the name of the Secret of the same namespace with the certificate (tls.crt), its key (tls.key) and the
	// CA that signed it (ca.crt), as cert-manager makes it. The certificate has to be for <name>-nodes.<namespace>.svc, and
	// for *.<name>-nodes.<namespace>.svc with workload StatefulSet; and for client authentication with clientCertificates,
	// because the operator's agent shows it. A new certificate is taken over while memcached runs. So is a new CA; memcached
	// goes on trusting the one before until it restarts.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="secretName must be the name of a Secret: use lower-case letters, digits, '-' and '.' (for example my-cache-tls)"
	SecretName string `json:"secretName"`

	// ClientCertificates says whether clients have to show a certificate that the CA has signed: Required or Optional.
	// Without it, they are not asked for one.
	//
	// +optional
	ClientCertificates ClientCertificates `json:"clientCertificates,omitempty"`
}

// MemcachedAuth makes clients log in, with memcached's ASCII protocol.
type MemcachedAuth struct {
	// SecretName is the name of the Secret of the same namespace with the users: its key "users" holds up to 8 lines of the
	// form name:password, each of at most 254 bytes and without spaces. What changes in it is taken over while memcached
	// runs; connections that are open stay so.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="secretName must be the name of a Secret: use lower-case letters, digits, '-' and '.' (for example my-cache-users)"
	SecretName string `json:"secretName"`
}

// MemcachedService is one address for all ready nodes.
type MemcachedService struct {
	// Type is ClusterIP, which is also what its absence means, NodePort or LoadBalancer.
	//
	// +optional
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	Type corev1.ServiceType `json:"type,omitempty"`

	// Annotations of the Service, for example for the load balancer.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('cache.example.com/'))",message="annotations must not have keys below cache.example.com, which the operator sets: rename them"
	Annotations map[string]string `json:"annotations,omitempty"`
}

// TopologyPreset is a common way to spread nodes.
//
// +kubebuilder:validation:Enum=PreferHosts;RequireHosts;PreferZones;RequireZones;None
type TopologyPreset string

// The presets.
const (
	// TopologyPreferHosts spreads nodes over machines as far as there is room.
	TopologyPreferHosts TopologyPreset = "PreferHosts"

	// TopologyRequireHosts does not run two nodes more on one machine than on another.
	TopologyRequireHosts TopologyPreset = "RequireHosts"

	// TopologyPreferZones spreads nodes over zones, and over machines, as far as there is room.
	TopologyPreferZones TopologyPreset = "PreferZones"

	// TopologyRequireZones does not run two nodes more in one zone than in another, and spreads them over machines as far as
	// there is room.
	TopologyRequireZones TopologyPreset = "RequireZones"

	// TopologyNone leaves it to the scheduler.
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

	// Constraints are those of the pods. One without a labelSelector counts the nodes of this cache.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Constraints []corev1.TopologySpreadConstraint `json:"constraints,omitempty"`
}

// MemcachedScheduling says which machines the nodes run on.
type MemcachedScheduling struct {
	// TopologySpread spreads the nodes. Without it, they are spread over machines as far as there is room.
	//
	// +optional
	TopologySpread *MemcachedTopologySpread `json:"topologySpread,omitempty"`

	// Affinity of the pods.
	//
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// Tolerations of the pods.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// NodeSelector is the labels of the machines that may run the pods.
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

// MemcachedDisruption limits evictions, from two nodes on.
type MemcachedDisruption struct {
	// MaxUnavailable is how many nodes may be missing because of an eviction: a number, or a percentage of the size. Without
	// it, 1.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 : self.matches('^([1-9][0-9]?|100)%$')",message="maxUnavailable must let at least one node go: choose a number from 1 on, or a percentage from 1% to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

// MemcachedNetworkPolicy limits who can connect to memcached. Everybody may connect to the port of the metrics, 9150.
type MemcachedNetworkPolicy struct {
	// Clients are those who may connect to memcached, as in a NetworkPolicy. Without any, every pod of the same namespace
	// may.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Clients []networkingv1.NetworkPolicyPeer `json:"clients,omitempty"`
}

// MemcachedMonitoring says how metrics are found.
type MemcachedMonitoring struct {
	// Labels are added to the ServiceMonitor, for a Prometheus that selects by them (for example release: prometheus).
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Labels map[string]string `json:"labels,omitempty"`
}
