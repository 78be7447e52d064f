package diff

import (
	"github.com/example/memcached-operator/operator/memcached/args"
)

// Workload is the kind of object that runs the pods.
type Workload string

// The kinds of workload.
const (
	Deployment  Workload = "Deployment"
	StatefulSet Workload = "StatefulSet"
)

// State is how a cache runs, or is wanted to run. Lists and texts of Kubernetes' own types are in JSON, one element each.
type State struct {
	// Size is the number of nodes. Read does not know it.
	Size int32
	// Workload is the kind of object that runs the pods.
	Workload Workload
	// Image of memcached.
	Image string
	// Version of memcached in Image, for example "1.6.38"; empty if not known. Read knows it only from the annotation
	// VersionAnnotation.
	Version string
	// Command of memcached's container; what comes before its arguments.
	Command []string
	// Arguments of memcached.
	Arguments args.Arguments
	// Resources of memcached's container.
	Resources Resources
	// Scheduling is where the pods may run.
	Scheduling Scheduling
	// Certificates are where TLS comes from.
	Certificates Source
	// Users are where the names and passwords come from.
	Users Source
	// AgentImage is the image of the sidecar; empty without one.
	AgentImage string
	// VolumeSize is what the volume with the items of a warm restart holds, in bytes; 0 without one.
	VolumeSize int64
	// Labels of the pods.
	Labels map[string]string
	// Annotations of the pods.
	Annotations map[string]string
	// Rest is everything else in the pod template, by path: for example
	// "spec.containers[memcached].livenessProbe.periodSeconds".
	Rest map[string]string
}

// Resources of a container: CPU in thousandths of one, memory in bytes. 0 means not set.
type Resources struct {
	CPURequest, CPULimit, MemoryRequest, MemoryLimit int64
}

// Scheduling is where pods may run.
type Scheduling struct {
	NodeSelector   map[string]string
	Affinity       string
	Tolerations    []string
	TopologySpread []string
	PriorityClass  string
}

// Source is a Secret that a pod mounts.
type Source struct {
	// Secret is its name; empty without one.
	Secret string
	// Content is a fingerprint of what is in it; empty if not known. Read does not know it.
	Content string
}
