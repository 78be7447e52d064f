package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// WorkloadKind is the kind of object that manages the pods.
//
// +kubebuilder:validation:Enum=Deployment;StatefulSet
type WorkloadKind string

// The kinds of workload.
const (
	// WorkloadDeployment runs interchangeable pods. Any change of the pod template replaces them, and their items are
	// lost.
	WorkloadDeployment WorkloadKind = "Deployment"

	// WorkloadStatefulSet runs pods with stable names and DNS names. The operator changes running pods in place where
	// that keeps the items.
	WorkloadStatefulSet WorkloadKind = "StatefulSet"
)

// MemcachedSpec is the desired state of a Memcached.
//
// The operator checks rules that involve several fields and reports violations in a condition. They are not CEL rules
// because OLM v1 refuses an upgrade whose CRD adds a validation rule to an existing field, and spec existed before.
type MemcachedSpec struct {
	// Size is the number of memcached pods, at most 1000. 0 stops all pods and keeps the object.
	//
	// +required
	// +kubebuilder:validation:Minimum=0
	Size int32 `json:"size"`

	// Workload is the kind of object that manages the pods: Deployment, or StatefulSet, whose pods keep their names and
	// can be changed without losing items. Changing it starts new, empty pods and stops the old ones when the new ones
	// are ready. Default: Deployment.
	//
	// +optional
	Workload WorkloadKind `json:"workload,omitempty"`

	// Version is the version of memcached, for example 1.6.45. Without image, it selects one of the versions that the
	// operator knows; a condition lists them if it is none of these. With image, it says which version the image
	// contains, which a warm restart needs to know. Default: chosen by the operator.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]+[.][0-9]+[.][0-9]+$')",message="version must have three numbers: write it as memcached does (for example 1.6.45)"
	Version string `json:"version,omitempty"`

	// Image is a memcached image to use instead of an official one. It must have memcached in its PATH, and for
	// warmRestart also /bin/sh, sleep, rm and touch. It runs as user 11211.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.matches('[[:space:]]')",message="image must not contain spaces or line breaks: remove them (for example docker.io/library/memcached:1.6.45-alpine)"
	Image string `json:"image,omitempty"`

	// Resources are the resource requests and limits of memcached in each pod. Default: 128Mi of memory for both (256Mi
	// with tls), a CPU request of 50m and a CPU limit of 1. If only a memory limit is set, the request is the same; a
	// CPU request never exceeds the limit, and a limit that is not set is at least the request.
	//
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`

	// CacheMemory is the memory for items in each pod, in whole MiB (memcached option -m). Default: what the memory
	// limit holds beside connections and other memory; a larger value is refused. Minimum: 8Mi (39Mi with warmRestart),
	// and twice maxItemSize.
	//
	// +optional
	CacheMemory *resource.Quantity `json:"cacheMemory,omitempty"`

	// MaxConnections is the number of simultaneous connections of each pod (memcached option -c). memcached reserves 9
	// of them, and 5 per thread. Range: 64 to 65536. Default: 1024.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= 64 && self <= 65536",message="maxConnections must leave room for clients, and memcached keeps some for itself: choose a number from 64 to 65536"
	MaxConnections *int32 `json:"maxConnections,omitempty"`

	// MaxItemSize is the size of the largest item (memcached option -I): a multiple of 512Ki from 512Ki to 1Gi, and at
	// most half of the cache memory. Default: 1Mi.
	//
	// +optional
	MaxItemSize *resource.Quantity `json:"maxItemSize,omitempty"`

	// Threads is the number of threads that serve requests (memcached option -t). Range: 1 to 64. Default: 4.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= 1 && self <= 64",message="threads must be a number of threads: choose one from 1 to 64"
	Threads *int32 `json:"threads,omitempty"`

	// ExtraArgs are further arguments of memcached, one word per entry (for example "-o", "no_lru_crawler"). Arguments
	// that have a field of their own are refused.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1024
	ExtraArgs []string `json:"extraArgs,omitempty"`

	// WarmRestart keeps the items in a memory volume when memcached restarts in the same pod, for example for a newer
	// version; the memory for items can then not be resized. Going back to a version before 1.6.38 still loses the items,
	// and so does another image unless version is set. Writes and deletions during the restart are missed, so keys deleted
	// then reappear. Default: false.
	//
	// +optional
	WarmRestart bool `json:"warmRestart,omitempty"`

	// Updates controls changes that would lose items and come from the operator, not from the user.
	//
	// +optional
	Updates *MemcachedUpdates `json:"updates,omitempty"`

	// HitRatioGate delays the replacement of the next pod until the previous one has filled up again.
	//
	// +optional
	HitRatioGate *MemcachedHitRatioGate `json:"hitRatioGate,omitempty"`

	// TLS requires clients to use TLS. Default: plain text.
	//
	// +optional
	TLS *MemcachedTLS `json:"tls,omitempty"`

	// Auth requires clients to log in with a user and password. Default: no authentication.
	//
	// +optional
	Auth *MemcachedAuth `json:"auth,omitempty"`

	// Service creates one address for all ready pods, with the name of the cache, for clients that do not distribute
	// keys themselves. Default: only the headless Service <name>-nodes, which lists the address of each pod.
	//
	// +optional
	Service *MemcachedService `json:"service,omitempty"`

	// Scheduling controls which nodes the pods run on.
	MemcachedScheduling `json:",inline"`

	// Disruption limits how many pods are evicted at a time, for example when nodes are drained. The only pod of a
	// cache of size 1 can always be evicted. Default: no limit.
	//
	// +optional
	Disruption *MemcachedDisruption `json:"disruption,omitempty"`

	// NetworkPolicy limits which clients can connect. Default: no limit.
	//
	// +optional
	NetworkPolicy *MemcachedNetworkPolicy `json:"networkPolicy,omitempty"`

	// Monitoring adds a metrics endpoint to each pod, http://<pod>:9150/metrics, and a ServiceMonitor if the cluster
	// has that kind. Alerts about pods need it. With workload Deployment and neither tls nor auth, setting or removing
	// it replaces the pods, and their items are lost.
	//
	// +optional
	Monitoring *MemcachedMonitoring `json:"monitoring,omitempty"`

	// PodLabels are additional labels of the pods.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('app.kubernetes.io/') && !k.startsWith('cache.example.com/') && !k.startsWith('apps.kubernetes.io/') && !k.startsWith('statefulset.kubernetes.io/') && k != 'pod-template-hash' && k != 'controller-revision-hash')",message="podLabels must not have keys that the operator or Kubernetes sets: remove those below app.kubernetes.io, apps.kubernetes.io, statefulset.kubernetes.io and cache.example.com, pod-template-hash and controller-revision-hash"
	PodLabels map[string]string `json:"podLabels,omitempty"`

	// PodAnnotations are additional annotations of the pods.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('cache.example.com/'))",message="podAnnotations must not have keys below cache.example.com, which the operator sets: rename them"
	PodAnnotations map[string]string `json:"podAnnotations,omitempty"`
}
