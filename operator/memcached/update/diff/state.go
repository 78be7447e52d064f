package diff

import (
	"github.com/example/memcached-operator/operator/memcached/args"
)

// Workload is the kind of object that creates the pods.
type Workload string

// The kinds of workload.
const (
	Deployment  Workload = "Deployment"
	StatefulSet Workload = "StatefulSet"
)

// State describes the pods of a cache, as given or as wanted. Fields that hold Kubernetes' own types hold them as JSON, one
// element each.
type State struct {
	// Workload is the kind of object that creates the pods.
	Workload Workload
	// Image of memcached.
	Image string
	// Version of memcached in Image, for example "1.6.38"; empty if unknown. Read takes it from the annotation
	// pod.VersionAnnotation only.
	Version string
	// Command of memcached's container, without its arguments.
	Command []string
	// Arguments of memcached.
	Arguments args.Arguments
	// Resources of memcached's container.
	Resources Resources
	// Scheduling says where the pods may run.
	Scheduling Scheduling
	// CertificatesSecret is the name of the Secret with the certificate; empty without TLS.
	CertificatesSecret string
	// UsersSecret is the name of the Secret with names and passwords; empty without authentication.
	UsersSecret string
	// AgentImage is the image of the agent; empty if the pods have no agent.
	AgentImage string
	// VolumeSize is the size of the volume with the items of a warm restart, in bytes; 0 without such a volume.
	VolumeSize int64
	// Labels of the pods.
	Labels map[string]string
	// Annotations of the pods.
	Annotations map[string]string
	// Partial is true if others may have added to this state, and it is unknown what: it is compared only in what the other state
	// has.
	Partial bool
	// Rest is everything else in the pod template, by path: for example
	// "spec.containers[memcached].livenessProbe.periodSeconds".
	Rest map[string]string
}

// Resources of a container: CPU in millicores, memory in bytes. 0 means not set.
type Resources struct {
	CPURequest, CPULimit, MemoryRequest, MemoryLimit int64
}

// Scheduling says where pods may run.
type Scheduling struct {
	NodeSelector   map[string]string
	Affinity       string
	Tolerations    []string
	TopologySpread []string
	PriorityClass  string
}
