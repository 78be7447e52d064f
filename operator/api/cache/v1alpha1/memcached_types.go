package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MaxNameLength is the longest name a Memcached may have, in characters. A label value holds 63 characters, and
// Kubernetes puts "<name>-<hash>" with a hash of up to 10 characters into the label controller-revision-hash of a
// StatefulSet's pods. The limit holds from the first release on because validation can never be tightened later.
const MaxNameLength = 52

// MemcachedStatus is what the operator has observed. It is written by the operator alone.
type MemcachedStatus struct {
	// ObservedGeneration is the metadata.generation whose spec the operator last carried over into the objects it owns.
	// While it is lower than metadata.generation, the newest spec has not been looked at yet or could not be carried
	// over: the conditions say why.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Replicas is the number of nodes that exist, ready or not.
	//
	// +optional
	Replicas int32 `json:"replicas"`

	// ReadyReplicas is the number of nodes whose pods are ready: memcached accepts connections, and an agent beside it is
	// ready as well.
	//
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`

	// Selector selects the nodes' pods, in the form that kubectl's --selector and the HorizontalPodAutoscaler take.
	//
	// +optional
	Selector string `json:"selector,omitempty"`

	// Nodes are the names of the pods that run memcached or are about to, in alphabetical order. Pods that are being
	// deleted, or have ended for good, are not listed.
	//
	// +optional
	// +listType=atomic
	Nodes []string `json:"nodes,omitempty"`

	// Binding names the Secret that tells clients how to reach the cache: keys type, provider, host, port and uri, as the
	// Service Binding Specification lays down (https://servicebinding.io). It is absent until that Secret exists.
	//
	// +optional
	Binding *MemcachedBinding `json:"binding,omitempty"`

	// Endpoints are the nodes as clients reach them, in the order of their slots: that of the pods' numbers for a
	// StatefulSet, alphabetical for a Deployment. Pods that are being deleted, or have ended for good, are not listed.
	//
	// +optional
	// +listType=atomic
	Endpoints []MemcachedEndpoint `json:"endpoints,omitempty"`

	// Pending is what the operator would change if it did not lose items: it waits to be released. It is absent when
	// nothing waits.
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

// MemcachedBinding names a Secret in the namespace of the cache. With it, a Memcached is a Provisioned Service in the
// words of the Service Binding Specification.
type MemcachedBinding struct {
	// Name is the name of the Secret.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
}

// ItemsOrigin tells whether a node began with the items it had before.
//
// +kubebuilder:validation:Enum=Warm;Cold
type ItemsOrigin string

// The origins of a node's items.
const (
	// ItemsWarm: memcached found the items of before when it started.
	ItemsWarm ItemsOrigin = "Warm"

	// ItemsCold: memcached started empty.
	ItemsCold ItemsOrigin = "Cold"
)

// MemcachedEndpoint is one node as clients reach it.
type MemcachedEndpoint struct {
	// Pod is the name of the pod.
	//
	// +required
	Pod string `json:"pod"`

	// Host is the DNS name of the slot, <pod>.<cache>-nodes.<namespace>.svc: whoever runs in it later has the same one.
	// Only the nodes of a StatefulSet have one.
	//
	// +optional
	Host string `json:"host,omitempty"`

	// IP is the address of the pod, absent until it has one.
	//
	// +optional
	IP string `json:"ip,omitempty"`

	// Port is the TCP port that memcached listens on.
	//
	// +required
	Port int32 `json:"port"`

	// Ready tells whether the pod is ready: memcached accepts connections, and an agent beside it is ready as well.
	//
	// +required
	Ready bool `json:"ready"`

	// Version is the version of memcached that runs, for example 1.6.45. It is absent if the operator does not know the image,
	// and the spec does not say it.
	//
	// +optional
	Version string `json:"version,omitempty"`

	// Items tells whether memcached began with the items of before (Warm) or empty (Cold). It is absent until the node
	// runs, and with a warm restart until its agent has answered.
	//
	// +optional
	Items ItemsOrigin `json:"items,omitempty"`

	// Since is when memcached last started.
	//
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}

// ChangeClass says what a change does to the items of a cache.
//
// +kubebuilder:validation:Enum=Live;Warm;Cold
type ChangeClass string

// MemcachedPending is a change of the pods that waits because items would be lost.
type MemcachedPending struct {
	// ID names exactly this change. Writing it into spec.updates.release lets it happen.
	//
	// +required
	ID string `json:"id"`

	// Class is the worst of the changes: Live (nothing restarts), Warm (memcached restarts, items stay) or Cold (items
	// are lost).
	//
	// +required
	Class ChangeClass `json:"class"`

	// Changes are what would change, sorted by field.
	//
	// +required
	// +listType=atomic
	Changes []MemcachedChange `json:"changes"`
}

// MemcachedChange is one difference between what runs and what is wanted.
type MemcachedChange struct {
	// Field is what differs, for example image or resources.limits.memory.
	//
	// +required
	Field string `json:"field"`

	// Class is what making this change does to the items.
	//
	// +required
	Class ChangeClass `json:"class"`

	// Reason says why it has this class.
	//
	// +required
	Reason string `json:"reason"`

	// From is what runs.
	//
	// +optional
	From string `json:"from,omitempty"`

	// To is what is wanted.
	//
	// +optional
	To string `json:"to,omitempty"`
}

// Memcached is a memcached cache: a number of memcached nodes, each a pod that listens on port 11211.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=memcacheds,singular=memcached,shortName=memc,categories=all,scope=Namespaced
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.spec.size`,description="Nodes wanted"
// +kubebuilder:printcolumn:name="Ready-Nodes",type=integer,JSONPath=`.status.readyReplicas`,description="Nodes that are ready"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="True when the cache is exactly as the spec asks"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Why it is ready or not"
// +kubebuilder:printcolumn:name="Pending",type=string,JSONPath=`.status.pending.class`,description="What an update that waits to be released would do to the items"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,description="The same in words"
// +kubebuilder:printcolumn:name="Nodes",type=string,priority=1,JSONPath=`.status.nodes`,description="Names of the pods"
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 52",message="metadata.name is too long: choose a name of at most 52 characters, because Kubernetes adds a hash of up to 11 to it in pod labels, which hold 63"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must be usable as the name of a Service: choose a name of lower-case letters, digits and '-' that begins with a letter and does not end with '-' (for example my-cache-1)"
type Memcached struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user wants.
	//
	// +required
	Spec MemcachedSpec `json:"spec"`

	// Status is what the operator has observed.
	//
	// +optional
	Status MemcachedStatus `json:"status,omitzero"`
}

// MemcachedList is a list of Memcached objects.
//
// +kubebuilder:object:root=true
type MemcachedList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the objects.
	Items []Memcached `json:"items"`
}
