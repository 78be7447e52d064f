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
	{name: "workload", text: func(s State) string { return string(s.Workload) },
		class: cold("The new workload creates its own pods, which start empty; the old pods are removed when the new ones are ready.")},
	{name: "image", text: func(s State) string { return s.Image }, class: image},
	{name: "version", text: func(s State) string { return s.Version }, class: version},
	{name: "command", text: func(s State) string { return list(s.Command) }, class: command},

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
		class: cold("Warm restart keeps the items in a file, and memcached does not find them without it or in another file: each pod is replaced and starts empty.")},
	{name: "arguments.hashPower", text: hashPowerText, class: hashPower},
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

	{name: "certificates.secret", text: func(s State) string { return s.CertificatesSecret }, class: replaced("The Secret with the certificate")},
	{name: "users.secret", text: func(s State) string { return s.UsersSecret }, class: replaced("The Secret with the users")},

	{name: "agentImage", text: func(s State) string { return s.AgentImage }, class: agentImage},
	{name: "volumeSize", text: func(s State) string { return bytes(s.VolumeSize) }, class: volumeSize},
	{name: "labels", text: func(s State) string { return pairs(s.Labels) },
		class: patched("Labels are changed on the running pods.")},
	{name: "annotations", text: func(s State) string { return pairs(s.Annotations) },
		class: patched("Annotations are changed on the running pods.")},
}

// rest returns a change for each other path of the pod template that differs.
func rest(c comparison) []Change {
	paths := maps.Clone(c.given.Rest)
	if paths == nil {
		paths = map[string]string{}
	}
	maps.Copy(paths, c.wanted.Rest)
	var changes []Change
	for path := range paths {
		from, had := c.given.Rest[path]
		to, has := c.wanted.Rest[path]
		if had == has && from == to || c.given.Partial && !has {
			continue
		}
		class, reason := c.other(path)
		changes = append(changes, Change{Field: "template." + path, Class: class, Reason: reason, From: from, To: to})
	}
	return changes
}

// hashPowerText is empty for a table that begins with memcached's own size.
func hashPowerText(s State) string {
	if s.Arguments.HashPower == 0 {
		return ""
	}
	return number(s.Arguments.HashPower)
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
