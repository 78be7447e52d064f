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
	// name is that of Change.Field.
	name string
	// text is its value, to be compared and to be read; empty when it is not set.
	text func(State) string
	// class is what changing it does; None if it is no change in this situation.
	class func(situation) (Class, string)
	// unknownIsNoChange is for what one side may not know.
	unknownIsNoChange bool
}

// fields has an entry for everything in State but Rest, which rest looks at.
var fields = []field{
	{name: "size", text: func(s State) string { return number(s.Size) },
		class: always(Live, "Pods are added or removed; all others keep running with their items.")},
	{name: "workload", text: func(s State) string { return string(s.Workload) },
		class: always(Cold, "The new workload makes pods of its own, which start empty; the old ones go when those are ready.")},
	{name: "image", text: func(s State) string { return s.Image }, class: image},
	{name: "version", text: func(s State) string { return s.Version }, class: version},
	{name: "command", text: func(s State) string { return list(s.Command) }, class: replaced("The command")},

	{name: "arguments.cacheMemory", text: func(s State) string { return number(s.Arguments.CacheMemory) + "Mi" }, class: cacheMemory},
	{name: "arguments.maxConnections", text: func(s State) string { return number(s.Arguments.MaxConnections) },
		class: replaced("The number of connections")},
	{name: "arguments.maxItemSize", text: func(s State) string { return bytes(s.Arguments.MaxItemSize) },
		class: layout("The largest item size")},
	{name: "arguments.threads", text: func(s State) string { return number(s.Arguments.Threads) }, class: replaced("The number of threads")},
	{name: "arguments.port", text: func(s State) string { return number(s.Arguments.Port) }, class: replaced("The port")},
	{name: "arguments.minItemSpace", text: func(s State) string { return number(s.Arguments.MinItemSpace) },
		class: layout("The smallest item size (-n)")},
	{name: "arguments.growthFactor", text: func(s State) string { return s.Arguments.GrowthFactor },
		class: layout("The growth factor (-f)")},
	{name: "arguments.noCAS", text: func(s State) string { return strconv.FormatBool(s.Arguments.NoCAS) },
		class: layout("Switching CAS off or on (-C)")},
	{name: "arguments.slabOptions", text: func(s State) string { return list(s.Arguments.SlabOptions) },
		class: layout("A slab option")},
	{name: "arguments.memoryFile", text: func(s State) string { return s.Arguments.MemoryFile },
		class: always(Cold, "The items are in other memory with warm restart than without, and in another file they are not found: each pod is replaced, and starts empty.")},
	{name: "arguments.tls", text: func(s State) string { return strconv.FormatBool(s.Arguments.TLS) },
		class: replaced("Whether clients use TLS")},
	{name: "arguments.tlsOptions", text: func(s State) string { return list(s.Arguments.TLSOptions) },
		class: replaced("The TLS options")},
	{name: "arguments.authFile", text: func(s State) string { return s.Arguments.AuthFile },
		class: replaced("Whether clients authenticate")},
	{name: "arguments.other", text: func(s State) string { return list(s.Arguments.Other) },
		class: replaced("An argument")},

	{name: "resources.limits.cpu", text: func(s State) string { return milli(s.Resources.CPULimit) },
		class: resources(func(r Resources) int64 { return r.CPULimit })},
	{name: "resources.limits.memory", text: func(s State) string { return bytes(s.Resources.MemoryLimit) },
		class: memoryLimit},
	{name: "resources.requests.cpu", text: func(s State) string { return milli(s.Resources.CPURequest) },
		class: resources(func(r Resources) int64 { return r.CPURequest })},
	{name: "resources.requests.memory", text: func(s State) string { return bytes(s.Resources.MemoryRequest) },
		class: resources(func(r Resources) int64 { return r.MemoryRequest })},

	{name: "scheduling.affinity", text: func(s State) string { return s.Scheduling.Affinity }, class: replaced("The affinity")},
	{name: "scheduling.nodeSelector", text: func(s State) string { return pairs(s.Scheduling.NodeSelector) },
		class: replaced("The node selector")},
	{name: "scheduling.priorityClass", text: func(s State) string { return s.Scheduling.PriorityClass },
		class: replaced("The priority")},
	{name: "scheduling.tolerations", text: func(s State) string { return list(s.Scheduling.Tolerations) },
		class: replaced("The tolerations")},
	{name: "scheduling.topologySpread", text: func(s State) string { return list(s.Scheduling.TopologySpread) },
		class: replaced("The spread")},

	{name: "certificates.secret", text: func(s State) string { return s.Certificates.Secret }, class: replaced("The Secret with the certificate")},
	{name: "certificates.content", text: func(s State) string { return s.Certificates.Content }, unknownIsNoChange: true,
		class: always(Live, "memcached loads the new certificate while it runs, and connections stay open.")},
	{name: "users.secret", text: func(s State) string { return s.Users.Secret }, class: replaced("The Secret with the users")},
	{name: "users.content", text: func(s State) string { return s.Users.Content }, unknownIsNoChange: true,
		class: always(Live, "memcached loads the new users while it runs.")},

	{name: "agentImage", text: func(s State) string { return s.AgentImage }, class: agentImage},
	{name: "volumeSize", text: func(s State) string { return bytes(s.VolumeSize) }, class: volumeSize},
	{name: "labels", text: func(s State) string { return pairs(s.Labels) },
		class: patched("Labels are changed on the running pods.")},
	{name: "annotations", text: func(s State) string { return pairs(s.Annotations) },
		class: patched("Annotations are changed on the running pods.")},
}

// rest returns a change for each other path of the pod template that differs. All are cold: what has no field of its own is
// not known to be milder.
func rest(s situation) []Change {
	paths := maps.Clone(s.running.Rest)
	if paths == nil {
		paths = map[string]string{}
	}
	maps.Copy(paths, s.wanted.Rest)
	var changes []Change
	for path := range paths {
		from, had := s.running.Rest[path]
		to, has := s.wanted.Rest[path]
		if had == has && from == to {
			continue
		}
		class, reason := replaced("This part")(s)
		changes = append(changes, Change{Field: "template." + path, Class: class, Reason: reason, From: from, To: to})
	}
	return changes
}

func number[T int32 | int64](n T) string { return strconv.FormatInt(int64(n), 10) }

func bytes(n int64) string {
	if n == 0 {
		return ""
	}
	return resource.NewQuantity(n, resource.BinarySI).String()
}

func milli(n int64) string {
	if n == 0 {
		return ""
	}
	return resource.NewMilliQuantity(n, resource.DecimalSI).String()
}

// list quotes each element, so that no two lists look the same.
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
