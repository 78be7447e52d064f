package diff

import (
	"fmt"
	"regexp"

	"github.com/blang/semver/v4"

	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// comparison is what the class of a field may depend on.
type comparison struct {
	given, wanted State
	features      inputs.Features
}

// onDelete reports whether running pods stay when their template changes.
func (c comparison) onDelete() bool {
	return c.given.Workload == StatefulSet && c.wanted.Workload == StatefulSet
}

const deploymentReplaces = "A Deployment replaces its pods whenever their template changes, so each pod starts empty; a StatefulSet would not."

// patched is for fields that can be changed on running pods.
func patched(reason string) func(comparison) (Class, string) {
	return func(c comparison) (Class, string) {
		if !c.onDelete() {
			return Cold, deploymentReplaces
		}
		return Live, reason
	}
}

// cold is for fields whose change is cold for every cache.
func cold(reason string) func(comparison) (Class, string) {
	return func(comparison) (Class, string) { return Cold, reason }
}

// replaced is for fields that cannot be changed on a running pod.
func replaced(what string) func(comparison) (Class, string) {
	return cold(what + " of a running pod cannot be changed: each pod is replaced and starts empty.")
}

const atNextReplacement = "Running pods stay as they are, and each gets this when it is replaced for another reason."

// command is for the command of memcached. With warm restart it is the script that starts memcached.
func command(c comparison) (Class, string) {
	if c.onDelete() && c.given.Arguments.MemoryFile != "" && c.given.Arguments.MemoryFile == c.wanted.Arguments.MemoryFile {
		return NextReplacement, atNextReplacement
	}
	return replaced("The command")(c)
}

// hashPower is for the size of the table of items when memcached starts. It saves time after a warm restart.
func hashPower(c comparison) (Class, string) {
	if c.onDelete() && c.given.Arguments.MemoryFile != "" && c.wanted.Arguments.MemoryFile != "" {
		return NextReplacement, atNextReplacement
	}
	return replaced("The size of the hash table")(c)
}

// deferrable matches the other paths that running pods can do without: the user can set none of them.
var deferrable = regexp.MustCompile(`^spec\.containers\[(memcached|agent)\]\.(livenessProbe|readinessProbe|startupProbe|lifecycle|env)\b` +
	`|^spec\.containers\[agent\]\.resources\b`)

// other is for a path of the pod template that has no field of its own. Nobody has measured that a change of it is milder than cold.
func (c comparison) other(path string) (Class, string) {
	if c.onDelete() && deferrable.MatchString(path) {
		return NextReplacement, atNextReplacement
	}
	return replaced("This part")(c)
}

// layout is for options that decide how memcached lays out items in memory.
func layout(option string) func(comparison) (Class, string) {
	return cold(option + " decides how items are laid out in memory: memcached restarts, and even a warm restart does not keep the items.")
}

// resources is for the resources that pods/resize changes.
func resources(get func(Resources) int64) func(comparison) (Class, string) {
	return func(c comparison) (Class, string) {
		from, to := c.given.Resources, c.wanted.Resources
		switch {
		case !c.onDelete():
			return Cold, deploymentReplaces
		case !c.features.Resize:
			return Cold, "This cluster cannot resize running pods (it has no pods/resize): each pod is replaced and starts empty."
		case get(from) == 0 || get(to) == 0:
			return Cold, "A request or limit cannot be added to a running pod or removed from it, only changed: each pod is replaced and starts empty."
		case c.guaranteed(from) != c.guaranteed(to):
			return Cold, "The quality-of-service class of a running pod cannot be changed: each pod is replaced and starts empty."
		}
		return Live, "Running pods are resized in place; memcached keeps running and keeps its items."
	}
}

// guaranteed reports whether all requests of a pod equal its limits, which gives it the QoS class Guaranteed. Requests and limits
// of an agent are never equal.
func (c comparison) guaranteed(r Resources) bool {
	return c.given.AgentImage == "" && r.CPULimit != 0 && r.CPULimit == r.CPURequest && r.MemoryLimit != 0 && r.MemoryLimit == r.MemoryRequest
}

func memoryLimit(c comparison) (Class, string) {
	class, reason := resources(func(r Resources) int64 { return r.MemoryLimit })(c)
	if class == Live && !c.resizesMemory() {
		return Cold, "This cluster cannot lower the memory limit of running pods (Kubernetes 1.34 and later can): each pod is replaced and starts empty."
	}
	return class, reason
}

// resizesMemory reports whether running pods can be resized to the wanted memory limit.
func (c comparison) resizesMemory() bool {
	return c.features.Resize && (c.features.Shrink || c.wanted.Resources.MemoryLimit >= c.given.Resources.MemoryLimit)
}

func cacheMemory(c comparison) (Class, string) {
	switch {
	case c.given.Arguments.MemoryFile != "" || c.wanted.Arguments.MemoryFile != "":
		return Cold, "With warm restart, memcached can neither change the memory for items while it runs nor keep the items when it starts with another size."
	case !c.onDelete():
		return Cold, deploymentReplaces
	case c.given.Resources.MemoryLimit != c.wanted.Resources.MemoryLimit && !c.resizesMemory():
		return Cold, "The memory limit changes too, and this cluster cannot change it on running pods: each pod is replaced and starts empty."
	}
	return Live, "memcached changes the memory for items while it runs; when the memory shrinks, memcached evicts the oldest items."
}

func image(c comparison) (Class, string) {
	from, to := c.given.Arguments, c.wanted.Arguments
	switch {
	case !c.onDelete():
		return Cold, "memcached restarts in a new pod and starts empty; a StatefulSet with warm restart would keep the items."
	case from.MemoryFile == "" || from.MemoryFile != to.MemoryFile:
		return Cold, "memcached restarts, and without warm restart it starts empty."
	case !from.SameLayout(to):
		return Cold, "memcached restarts, and starts empty because the layout of its memory changes as well."
	}
	return versions(c.given.Version, c.wanted.Version)
}

// version is for the annotation with the version of memcached. Where the image changes as well, the image is the change.
func version(c comparison) (Class, string) {
	if !c.onDelete() || c.given.Image != c.wanted.Image {
		return None, ""
	}
	return Live, "Running pods get an annotation with the version of memcached in their image; nothing restarts."
}

// The versions between which a warm restart was measured.
var (
	firstWarm     = semver.MustParse("1.6.18")
	firstWarmBack = semver.MustParse("1.6.38")
)

// versions returns the class of a change from one version of memcached to another with warm restart.
func versions(given, wanted string) (Class, string) {
	from, errFrom := semver.ParseTolerant(given)
	to, errTo := semver.ParseTolerant(wanted)
	if errFrom != nil || errTo != nil {
		return Cold, "The version of memcached in one of the images is unknown, so it is unknown whether the new one reads the items of the old one."
	}
	oldest := firstWarm
	if to.LT(from) {
		oldest = firstWarmBack
	}
	switch {
	case from.Major != to.Major || from.Minor != to.Minor || from.LT(firstWarm):
		return Cold, fmt.Sprintf("It is unknown whether memcached %s reads the items of %s, so they count as lost.", wanted, given)
	case to.LT(oldest):
		return Cold, fmt.Sprintf("memcached %s does not read the items of the newer %s: versions before %s are too old for that.", wanted, given, oldest)
	}
	return Warm, fmt.Sprintf("memcached restarts in the same pod, one pod at a time, and %s finds the items of %s again.", wanted, given)
}

func agentImage(c comparison) (Class, string) {
	switch {
	case !c.onDelete():
		return Cold, deploymentReplaces
	case c.given.AgentImage == "" || c.wanted.AgentImage == "":
		return Cold, "A container cannot be added to a running pod or removed from it: each pod is replaced and starts empty."
	}
	return Live, "Only the agent restarts, in the same pod; memcached keeps running and keeps its items."
}
