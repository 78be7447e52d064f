package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MaxNameLength is the longest name a Memcached may have, in characters. A label value holds 63 characters, and
// Kubernetes puts "<name>-<hash>" with a hash of up to 10 characters into the label controller-revision-hash of a
// StatefulSet's pods. The limit holds from the first release on because validation can never be tightened later.
const MaxNameLength = 52

// MemcachedSpec is what the user wants.
type MemcachedSpec struct {
	// Size is the number of memcached nodes (pods). 0 stops them all and keeps the object.
	//
	// +required
	// +kubebuilder:validation:Minimum=0
	Size int32 `json:"size"`
}

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

	// ReadyReplicas is the number of nodes that accept connections.
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

	// Conditions are Ready (the summary), Available, Progressing and Degraded.
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

// Memcached is a memcached cache: a number of memcached nodes, each a pod that listens on port 11211.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=memcacheds,singular=memcached,shortName=memc,categories=all,scope=Namespaced
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.spec.size`,description="Nodes wanted"
// +kubebuilder:printcolumn:name="Ready-Nodes",type=integer,JSONPath=`.status.readyReplicas`,description="Nodes that accept connections"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="True when the cache is exactly as the spec asks"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Why it is ready or not"
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
