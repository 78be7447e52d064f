package diff

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// field is one thing that can differ.
type field struct {
	// name is the name in Change.Field.
	name string
	// text is the value, both to compare it and to show it to the user; empty when it is not set.
	text func(State) string
	// class returns the class of a difference and the reason for it; None if the difference is no change here.
	class func(comparison) (Class, string)
}

// fields has an entry for each field of State except Rest, which func rest compares.
var fields = []field{
	{"workload", func(s State) string { return string(s.Workload) }, cold("The new workload creates its own pods, which start empty; the old pods are removed when the new ones are ready.")},
	{"image", func(s State) string { return s.Image }, image},
	{"version", func(s State) string { return s.Version }, version},
	{"command", func(s State) string { return list(s.Command) }, command},

	{"arguments.cacheMemory", func(s State) string { return number(s.Arguments.CacheMemory) + "Mi" }, cacheMemory},
	{"arguments.maxConnections", func(s State) string { return number(s.Arguments.MaxConnections) }, replaced("The number of connections")},
	{"arguments.maxItemSize", func(s State) string { return bytes(s.Arguments.MaxItemSize) }, layout("The largest item size")},
	{"arguments.threads", func(s State) string { return number(s.Arguments.Threads) }, replaced("The number of threads")},
	{"arguments.port", func(s State) string { return number(s.Arguments.Port) }, replaced("The port")},
	{"arguments.minItemSpace", func(s State) string { return number(s.Arguments.MinItemSpace) }, layout("The smallest item size (-n)")},
	{"arguments.growthFactor", func(s State) string { return s.Arguments.GrowthFactor }, layout("The growth factor (-f)")},
	{"arguments.noCAS", func(s State) string { return strconv.FormatBool(s.Arguments.NoCAS) }, layout("Switching CAS off or on (-C)")},
	{"arguments.slabOptions", func(s State) string { return list(s.Arguments.SlabOptions) }, layout("A slab option")},
	{"arguments.memoryFile", func(s State) string { return s.Arguments.MemoryFile }, cold("Warm restart keeps the items in a file, and memcached does not find them without it or in another file: each pod is replaced and starts empty.")},
	{"arguments.hashPower", func(s State) string { return number(s.Arguments.HashPower) }, hashPower},
	{"arguments.tls", func(s State) string { return strconv.FormatBool(s.Arguments.TLS) }, replaced("Whether clients use TLS")},
	{"arguments.tlsOptions", func(s State) string { return list(s.Arguments.TLSOptions) }, replaced("The TLS options")},
	{"arguments.authFile", func(s State) string { return s.Arguments.AuthFile }, replaced("Whether clients authenticate")},
	{"arguments.other", func(s State) string { return list(s.Arguments.Other) }, replaced("An argument")},

	{"resources.limits.cpu", func(s State) string { return milli(s.Resources.CPULimit) }, resources(func(r Resources) int64 { return r.CPULimit })},
	{"resources.limits.memory", func(s State) string { return bytes(s.Resources.MemoryLimit) }, memoryLimit},
	{"resources.requests.cpu", func(s State) string { return milli(s.Resources.CPURequest) }, resources(func(r Resources) int64 { return r.CPURequest })},
	{"resources.requests.memory", func(s State) string { return bytes(s.Resources.MemoryRequest) }, resources(func(r Resources) int64 { return r.MemoryRequest })},

	{"scheduling.affinity", func(s State) string { return s.Scheduling.Affinity }, replaced("The affinity")},
	{"scheduling.nodeSelector", func(s State) string { return pairs(s.Scheduling.NodeSelector) }, replaced("The node selector")},
	{"scheduling.priorityClass", func(s State) string { return s.Scheduling.PriorityClass }, replaced("The priority")},
	{"scheduling.tolerations", func(s State) string { return list(s.Scheduling.Tolerations) }, replaced("The tolerations")},
	{"scheduling.topologySpread", func(s State) string { return list(s.Scheduling.TopologySpread) }, replaced("The spread")},

	{"certificates.secret", func(s State) string { return s.CertificatesSecret }, replaced("The Secret with the certificate")},
	{"users.secret", func(s State) string { return s.UsersSecret }, replaced("The Secret with the users")},

	{"agentImage", func(s State) string { return s.AgentImage }, agentImage},
	{"volumeSize", func(s State) string { return bytes(s.VolumeSize) }, cold("The size of the volume that holds the items is fixed when a pod starts: each pod is replaced and starts empty.")},
	{"labels", func(s State) string { return pairs(s.Labels) }, patched("Labels are changed on the running pods.")},
	{"annotations", func(s State) string { return pairs(s.Annotations) }, patched("Annotations are changed on the running pods.")},
}

// ofUser begins the paths of resources that have no field of their own, such as ephemeral-storage.
const ofUser = "spec.containers[memcached].resources."

// rest returns a change for each other path of the pod template that differs.
func rest(c comparison) []Change {
	paths := map[string]string{}
	maps.Copy(paths, c.given.Rest)
	maps.Copy(paths, c.wanted.Rest)
	var changes []Change
	for path := range paths {
		from, had := c.given.Rest[path]
		to, has := c.wanted.Rest[path]
		if had == has && from == to || c.given.Partial && !has {
			continue
		}
		class, reason := c.other(path)
		changes = append(changes, Change{
			Field: "template." + path, Class: class, ByRelease: !strings.HasPrefix(path, ofUser), Reason: reason, From: from, To: to,
		})
	}
	return changes
}

// number is empty for 0, which means that memcached decides.
func number[T int32 | int64](n T) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(int64(n), 10)
}

func bytes(n int64) string { return quantity(resource.NewQuantity(n, resource.BinarySI)) }

func milli(n int64) string { return quantity(resource.NewMilliQuantity(n, resource.DecimalSI)) }

func quantity(q *resource.Quantity) string {
	if q.IsZero() {
		return ""
	}
	return q.String()
}

// list quotes each element, so that different lists have different texts.
func list(elements []string) string {
	if len(elements) == 0 {
		return ""
	}
	return fmt.Sprintf("%q", elements)
}

func pairs(of map[string]string) string {
	var words []string
	for _, key := range slices.Sorted(maps.Keys(of)) {
		words = append(words, key+"="+strconv.Quote(of[key]))
	}
	return strings.Join(words, " ")
}
