package diff

import (
	"fmt"

	"github.com/blang/semver/v4"

	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// situation is what the class of a field may depend on.
type situation struct {
	running, wanted State
	features        inputs.Features
}

// onDelete tells whether the pods stay when their template changes.
func (s situation) onDelete() bool {
	return s.running.Workload == StatefulSet && s.wanted.Workload == StatefulSet
}

const followsTemplate = "A Deployment replaces its pods whenever their template changes, so each node starts empty; a StatefulSet would not."

// patched is for what can be changed on running pods.
func patched(reason string) func(situation) (Class, string) {
	return func(s situation) (Class, string) {
		if !s.onDelete() {
			return Cold, followsTemplate
		}
		return Live, reason
	}
}

// always is for what has the same class everywhere.
func always(class Class, reason string) func(situation) (Class, string) {
	return func(situation) (Class, string) { return class, reason }
}

// replaced is for what a running pod cannot change.
func replaced(what string) func(situation) (Class, string) {
	return always(Cold, what+" of a running pod cannot be changed: each pod is replaced, and starts empty.")
}

// layout is for what decides how items lie in memory.
func layout(option string) func(situation) (Class, string) {
	return always(Cold, option+" decides how items lie in memory: memcached restarts with it, and not even a warm restart keeps the items.")
}

// resources is for what pods/resize changes.
func resources(get func(Resources) int64) func(situation) (Class, string) {
	return func(s situation) (Class, string) {
		from, to := s.running.Resources, s.wanted.Resources
		switch {
		case !s.onDelete():
			return Cold, followsTemplate
		case !s.features.Resize:
			return Cold, "This cluster cannot resize running pods (it has no pods/resize): each pod is replaced, and starts empty."
		case get(from) == 0 || get(to) == 0:
			return Cold, "Setting or removing a request or limit takes new pods, which start empty; changing its value does not."
		case s.guaranteed(from) != s.guaranteed(to):
			return Cold, "The quality-of-service class of a pod cannot change while it runs: each pod is replaced, and starts empty."
		}
		return Live, "Running pods are resized in place; memcached keeps running, and its items stay."
	}
}

// guaranteed tells whether the requests and limits of a pod are the same, which decides its quality of service. Those of an
// agent never are.
func (s situation) guaranteed(r Resources) bool {
	return s.running.AgentImage == "" && r.CPULimit > 0 && r.CPULimit == r.CPURequest && r.MemoryLimit > 0 && r.MemoryLimit == r.MemoryRequest
}

func memoryLimit(s situation) (Class, string) {
	class, reason := resources(func(r Resources) int64 { return r.MemoryLimit })(s)
	if class == Live && !s.resizesMemory() {
		return Cold, "This cluster cannot lower the memory limit of running pods (Kubernetes 1.34 and later can): each pod is replaced, and starts empty."
	}
	return class, reason
}

// resizesMemory tells whether running pods can get the memory limit that is wanted.
func (s situation) resizesMemory() bool {
	return s.features.Resize && (s.features.Shrink || s.wanted.Resources.MemoryLimit >= s.running.Resources.MemoryLimit)
}

func cacheMemory(s situation) (Class, string) {
	switch {
	case s.running.Arguments.MemoryFile != "" || s.wanted.Arguments.MemoryFile != "":
		return Cold, "With warm restart, memcached can neither change the memory for items at run time nor keep the items when it starts with another size."
	case !s.onDelete():
		return Cold, followsTemplate
	case s.running.Resources.MemoryLimit != s.wanted.Resources.MemoryLimit && !s.resizesMemory():
		return Cold, "The memory limit changes too, and this cluster cannot do that to running pods: each pod is replaced, and starts empty."
	}
	return Live, "memcached changes the memory for items at run time; when it shrinks, the oldest items go."
}

func image(s situation) (Class, string) {
	from, to := s.running.Arguments, s.wanted.Arguments
	switch {
	case !s.onDelete():
		return Cold, "memcached restarts in a new pod, and starts empty; a StatefulSet with warm restart would keep the items."
	case from.MemoryFile == "" || from.MemoryFile != to.MemoryFile:
		return Cold, "memcached restarts, and without warm restart it starts empty."
	case !from.SameLayout(to):
		return Cold, "memcached restarts, and because the layout of its memory changes as well it starts empty."
	}
	return versions(s.running.Version, s.wanted.Version)
}

// version is for what a pod says of its image. When that changes as well, it goes with it.
func version(s situation) (Class, string) {
	if !s.onDelete() || s.running.Image != s.wanted.Image {
		return None, ""
	}
	return Live, "Running pods are told which version of memcached is in their image; nothing restarts."
}

// The versions between which a warm restart was measured.
var (
	firstWarm     = semver.MustParse("1.6.18")
	firstWarmBack = semver.MustParse("1.6.38")
)

// versions is the class of going from one version of memcached to another with warm restart on.
func versions(running, wanted string) (Class, string) {
	from, errFrom := semver.ParseTolerant(running)
	to, errTo := semver.ParseTolerant(wanted)
	if errFrom != nil || errTo != nil {
		return Cold, "The version of memcached in one of the images is not known, so it cannot be told whether the new one reads the items of the old one."
	}
	oldest := firstWarm
	if to.LT(from) {
		oldest = firstWarmBack
	}
	switch {
	case from.Major != to.Major || from.Minor != to.Minor || from.LT(firstWarm):
		return Cold, fmt.Sprintf("It is not known whether memcached %s reads the items of %s, so it is taken that they are lost.", wanted, running)
	case to.LT(oldest):
		return Cold, fmt.Sprintf("memcached %s does not read the items of the newer %s: versions before %s are too old for that.", wanted, running, oldest)
	}
	return Warm, fmt.Sprintf("memcached restarts in the same pod, one pod at a time, and %s finds the items of %s again.", wanted, running)
}

func agentImage(s situation) (Class, string) {
	switch {
	case !s.onDelete():
		return Cold, followsTemplate
	case s.running.AgentImage == "" || s.wanted.AgentImage == "":
		return Cold, "A container cannot be added to a running pod, or removed from it: each pod is replaced, and starts empty."
	}
	return Live, "Only the agent restarts, in the same pod; memcached keeps running, and its items stay."
}

// volumeSize has its own sentence: a larger limit on a volume looks as if it could be live.
func volumeSize(situation) (Class, string) {
	return Cold, "The size of the volume that holds the items is fixed when a pod starts: each pod is replaced, and starts empty."
}
