package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MaxNameLength is the longest name of a Memcached, in characters. A label value holds 63 characters, and Kubernetes
// puts "<name>-<hash>" with a hash of up to 10 characters into the label controller-revision-hash of a StatefulSet's
// pods. The limit exists since the first release because validation cannot be tightened later.
const MaxNameLength = 52

// MemcachedStatus is the observed state of a Memcached. Only the operator writes it.
type MemcachedStatus struct {
	// ObservedGeneration is the metadata.generation whose spec the operator last applied to the objects it owns. While
	// it is lower than metadata.generation, the latest spec has not been applied; the conditions say why.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Replicas is the number of pods, ready or not.
	//
	// +optional
	Replicas int32 `json:"replicas"`

	// ReadyReplicas is the number of ready pods: memcached accepts connections, and the agent, if there is one, is
	// ready.
	//
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`

	// Selector is the label selector of the pods as a string, for kubectl --selector and the scale subresource.
	//
	// +optional
	Selector string `json:"selector,omitempty"`

	// Nodes are the names of the pods in alphabetical order. Pods that are being deleted or have terminated are not
	// listed.
	//
	// +optional
	// +listType=atomic
	Nodes []string `json:"nodes,omitempty"`

	// Binding names the Secret that tells clients how to connect, with the keys type, provider, host, port and uri of
	// the Service Binding Specification (https://servicebinding.io). It is absent until the Secret exists.
	//
	// +optional
	Binding *MemcachedBinding `json:"binding,omitempty"`

	// Endpoints are the pods as clients reach them, in the order of their ordinals (StatefulSet) or names (Deployment).
	// Pods that are being deleted or have terminated are not listed.
	//
	// +optional
	// +listType=atomic
	Endpoints []MemcachedEndpoint `json:"endpoints,omitempty"`

	// Pending is a change that waits for approval because it would lose items, or because its image cannot be pulled. It is absent
	// when no change waits.
	//
	// +optional
	Pending *MemcachedPending `json:"pending,omitempty"`

	// Conditions are Ready (the summary), Available, Progressing, Degraded and UpdatePending.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchMergeKey:"type" patchStrategy:"merge"`
}

// MemcachedBinding refers to a Secret in the namespace of the cache. It makes a Memcached a Provisioned Service of the
// Service Binding Specification.
type MemcachedBinding struct {
	// Name is the name of the Secret.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
}

// ItemsOrigin tells whether memcached started with its previous items.
//
// +kubebuilder:validation:Enum=Warm;Cold
type ItemsOrigin string

// The values of ItemsOrigin.
const (
	// ItemsWarm: memcached started with its previous items.
	ItemsWarm ItemsOrigin = "Warm"

	// ItemsCold: memcached started empty.
	ItemsCold ItemsOrigin = "Cold"
)

// MemcachedEndpoint is one pod as clients reach it.
type MemcachedEndpoint struct {
	// Pod is the name of the pod.
	//
	// +required
	Pod string `json:"pod"`

	// Host is the DNS name of the pod, <pod>.<cache>-nodes.<namespace>.svc. A pod that replaces it has the same one.
	// Only pods of a StatefulSet have one.
	//
	// +optional
	Host string `json:"host,omitempty"`

	// IP is the IP address of the pod. It is absent until the pod has one.
	//
	// +optional
	IP string `json:"ip,omitempty"`

	// Port is the TCP port that memcached listens on.
	//
	// +required
	Port int32 `json:"port"`

	// Ready tells whether the pod is ready: memcached accepts connections, and the agent, if there is one, is ready.
	//
	// +required
	Ready bool `json:"ready"`

	// Version is the version of memcached, for example 1.6.45. It is absent if the operator does not know the image and
	// spec.version is not set.
	//
	// +optional
	Version string `json:"version,omitempty"`

	// Items tells whether memcached started with its previous items (Warm) or empty (Cold). It is absent until
	// memcached runs, and with warmRestart until the agent has reported it.
	//
	// +optional
	Items ItemsOrigin `json:"items,omitempty"`

	// Since is the time at which memcached last started.
	//
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}

// ChangeClass is the effect of a change on the items of a cache.
//
// +kubebuilder:validation:Enum=Live;Warm;Cold
type ChangeClass string

// MemcachedPending is a change of the pods that waits for approval because items would be lost, or because its image cannot be
// pulled on the nodes of the pods.
type MemcachedPending struct {
	// ID identifies this change. Set spec.updates.release to it to approve the change.
	//
	// +required
	ID string `json:"id"`

	// Class is the highest class of the changes: Live (no restart), Warm (memcached restarts and keeps its items) or Cold
	// (items are lost).
	//
	// +required
	Class ChangeClass `json:"class"`

	// Changes lists what would change, sorted by field.
	//
	// +required
	// +listType=atomic
	Changes []MemcachedChange `json:"changes"`
}

// MemcachedChange is one difference between the running pods and the wanted ones.
type MemcachedChange struct {
	// Field is the field that differs, for example image or resources.limits.memory.
	//
	// +required
	Field string `json:"field"`

	// Class is the effect of this change on the items: Live, Warm or Cold.
	//
	// +required
	Class ChangeClass `json:"class"`

	// Reason explains the class, or says why the image cannot be pulled.
	//
	// +required
	Reason string `json:"reason"`

	// From is the current value.
	//
	// +optional
	From string `json:"from,omitempty"`

	// To is the wanted value.
	//
	// +optional
	To string `json:"to,omitempty"`
}

// Memcached is a memcached cache: a number of memcached pods that listen on port 11211.
//
// +kubebuilder:object:root=true
// +kubebuilder:metadata:annotations="helm.sh/resource-policy=keep"
// +kubebuilder:resource:path=memcacheds,singular=memcached,shortName=memc,categories=all,scope=Namespaced
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.spec.size`,description="Pods wanted"
// +kubebuilder:printcolumn:name="Ready-Nodes",type=integer,JSONPath=`.status.readyReplicas`,description="Pods that are ready"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="True when the cache is exactly as the spec asks"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Why it is ready or not"
// +kubebuilder:printcolumn:name="Pending",type=string,JSONPath=`.status.pending.class`,description="Effect of the pending change on the items"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,description="Message of the condition Ready"
// +kubebuilder:printcolumn:name="Nodes",type=string,priority=1,JSONPath=`.status.nodes`,description="Names of the pods"
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 52",message="metadata.name is too long: choose a name of at most 52 characters, because Kubernetes adds a hash of up to 11 to it in pod labels, which hold 63"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must be usable as the name of a Service: choose a name of lower-case letters, digits and '-' that begins with a letter and does not end with '-' (for example my-cache-1)"
type Memcached struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state.
	//
	// +required
	Spec MemcachedSpec `json:"spec"`

	// Status is the observed state.
	//
	// +optional
	Status MemcachedStatus `json:"status,omitzero"`
}

// GetConditions returns the conditions of the status.
func (m *Memcached) GetConditions() []metav1.Condition { return m.Status.Conditions }

// MemcachedList is a list of Memcached objects.
//
// +kubebuilder:object:root=true
type MemcachedList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the objects.
	Items []Memcached `json:"items"`
}
