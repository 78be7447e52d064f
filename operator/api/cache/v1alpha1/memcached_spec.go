package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// WorkloadKind is the kind of object that runs the nodes.
//
// +kubebuilder:validation:Enum=Deployment;StatefulSet
type WorkloadKind string

// The kinds of workload.
const (
	// WorkloadDeployment runs nodes that are all alike. Any change of their pods replaces them, and their items are lost.
	WorkloadDeployment WorkloadKind = "Deployment"

	// WorkloadStatefulSet runs nodes in numbered slots, each with a DNS name that it keeps. What can be changed without
	// losing items is changed in the running pods.
	WorkloadStatefulSet WorkloadKind = "StatefulSet"
)

// MemcachedSpec is what the user wants.
//
// Rules that join fields are checked by the operator, which says in a condition what is wrong: OLM v1 refuses an upgrade
// whose definition adds a validation rule to a field that was there before, and spec was.
type MemcachedSpec struct {
	// Size is the number of memcached nodes (pods). 0 stops them all and keeps the object.
	//
	// +required
	// +kubebuilder:validation:Minimum=0
	Size int32 `json:"size"`

	// Workload is the kind of object that runs the nodes: Deployment, which is also what its absence means, or
	// StatefulSet, whose nodes keep their names and can be changed without losing items. Changing it starts new nodes,
	// empty, and stops the old ones when the new ones are ready.
	//
	// +optional
	Workload WorkloadKind `json:"workload,omitempty"`

	// Version is the version of memcached, for example 1.6.45. The operator knows some, each by the digest of its official
	// image; a condition lists them when this is none of them. Without it, and without an image, the operator chooses. With
	// an image, it says which version is in that, which is what a warm restart with another version needs to know.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]+[.][0-9]+[.][0-9]+$')",message="version must have three numbers: write it as memcached does (for example 1.6.45)"
	Version string `json:"version,omitempty"`

	// Image is the image of memcached, instead of an official one. memcached has to be in its PATH, and for a warm restart
	// /bin/sh, sleep, rm and touch as well. It runs as the user 11211.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.matches('[[:space:]]')",message="image must not contain spaces or line breaks: remove them (for example docker.io/library/memcached:1.6.45-alpine)"
	Image string `json:"image,omitempty"`

	// Resources are what memcached requests of its machine, and may use at most, per node. Without either, memory is 128Mi
	// for both, 256Mi with TLS; with a limit alone, as much is requested. CPU is a request of 50m, or the limit if that is
	// less, and a limit of 1. A limit that is absent is at least what is requested.
	//
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`

	// CacheMemory is the memory for items, per node, in whole MiB (memcached's -m). Without it, it is as much as the memory
	// limit can hold beside connections and all else. More than that is refused, with the numbers, and so is less than 8Mi,
	// less than 39Mi with warmRestart, and less than twice maxItemSize.
	//
	// +optional
	CacheMemory *resource.Quantity `json:"cacheMemory,omitempty"`

	// MaxConnections is how many connections a node has at a time (memcached's -c), of which memcached keeps 9, and 5 for
	// each thread, for itself. Without it, 1024.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= 64 && self <= 65536",message="maxConnections must leave room for clients, and memcached keeps some for itself: choose a number from 64 to 65536"
	MaxConnections *int32 `json:"maxConnections,omitempty"`

	// MaxItemSize is the size of the largest item: a multiple of 512Ki, from 512Ki to 1Gi, and at most half of the cache
	// memory (memcached's -I). Without it, 1Mi.
	//
	// +optional
	MaxItemSize *resource.Quantity `json:"maxItemSize,omitempty"`

	// Threads is how many threads serve requests (memcached's -t). Without it, 4.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= 1 && self <= 64",message="threads must be a number of threads: choose one from 1 to 64"
	Threads *int32 `json:"threads,omitempty"`

	// ExtraArgs are arguments of memcached for which there is no field, each word by itself (for example "-o",
	// "no_lru_crawler"). Arguments for which there is a field are refused.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1024
	ExtraArgs []string `json:"extraArgs,omitempty"`

	// WarmRestart keeps the items when memcached restarts in the same pod, for example for a newer version; the memory
	// for items can then not be resized. Going back to a version before 1.6.38 still loses the items, and so does
	// another image unless version is set. Writes and deletions during the restart are missed, so keys deleted then
	// reappear.
	//
	// +optional
	WarmRestart bool `json:"warmRestart,omitempty"`

	// Updates say when pods are changed although items are lost, if the operator and not the user wants the change.
	//
	// +optional
	Updates *MemcachedUpdates `json:"updates,omitempty"`

	// HitRatioGate lets nodes be replaced only as fast as the ones before them have filled up again.
	//
	// +optional
	HitRatioGate *MemcachedHitRatioGate `json:"hitRatioGate,omitempty"`

	// TLS makes clients use TLS.
	//
	// +optional
	TLS *MemcachedTLS `json:"tls,omitempty"`

	// Auth makes clients give a name and a password.
	//
	// +optional
	Auth *MemcachedAuth `json:"auth,omitempty"`

	// Service is one address for all ready nodes, of the name of the cache: for clients that do not spread keys over nodes
	// themselves, such as those of a cache of one node. Without it, there is only <name>-nodes, with the address of each node.
	//
	// +optional
	Service *MemcachedService `json:"service,omitempty"`

	// Scheduling says which machines the nodes run on.
	MemcachedScheduling `json:",inline"`

	// Disruption limits how many nodes are evicted at a time, for example when machines are drained. It never keeps the node
	// of a cache of one from being evicted.
	//
	// +optional
	Disruption *MemcachedDisruption `json:"disruption,omitempty"`

	// NetworkPolicy limits who can connect to the nodes. Without it, the operator does not limit that.
	//
	// +optional
	NetworkPolicy *MemcachedNetworkPolicy `json:"networkPolicy,omitempty"`

	// Monitoring makes each node serve metrics at http://<node>:9150/metrics. Where the cluster has the kinds of the
	// Prometheus operator, they are scraped from there; without that, no alert about nodes can fire. With workload
	// Deployment and neither tls nor auth, setting or removing it replaces the pods, and their items are lost.
	//
	// +optional
	Monitoring *MemcachedMonitoring `json:"monitoring,omitempty"`

	// PodLabels are added to the labels of the pods.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('app.kubernetes.io/') && !k.startsWith('cache.example.com/') && !k.startsWith('apps.kubernetes.io/') && !k.startsWith('statefulset.kubernetes.io/') && k != 'pod-template-hash' && k != 'controller-revision-hash')",message="podLabels must not have keys that the operator or Kubernetes sets: remove those below app.kubernetes.io, apps.kubernetes.io, statefulset.kubernetes.io and cache.example.com, pod-template-hash and controller-revision-hash"
	PodLabels map[string]string `json:"podLabels,omitempty"`

	// PodAnnotations are added to the annotations of the pods.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('cache.example.com/'))",message="podAnnotations must not have keys below cache.example.com, which the operator sets: rename them"
	PodAnnotations map[string]string `json:"podAnnotations,omitempty"`
}
