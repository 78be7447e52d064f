package rollout

import (
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
)

// UpdateAnnotation is on a pod that is being updated in place, and holds its update state. Removing it declares the update
// finished.
const UpdateAnnotation = "cache.example.com/update"

// updateState is what UpdateAnnotation holds, in JSON. An operator that is upgraded finds it on running pods, so its JSON names
// must not change.
type updateState struct {
	// Revision is the revision that the pod is being updated to.
	Revision string `json:"revision"`
	// Since is when that began.
	Since time.Time `json:"since"`
	// Patched is true when images, labels and annotations have been set.
	Patched bool `json:"patched,omitempty"`
	// AgentOf is the revision that gave the pod the agent's image before memcached's, until it is Patched: the two never restart
	// together. It is empty if Given gave both.
	AgentOf string `json:"agentOf,omitempty"`
	// Given is the revision that gave the pod its images, labels and annotations, until it is Patched; empty if unknown.
	Given string `json:"given,omitempty"`
	// ResourcesOf are the revisions that may have given the pod its CPU and memory before: the one of its label, and those that
	// it was being updated to.
	ResourcesOf []string `json:"sizes,omitempty"`
	// CacheMemory is the memory for items that the agent has to report, in MiB; 0 if it does not change.
	CacheMemory int64 `json:"cacheMemory,omitempty"`
	// Shrinks is true if the memory limit becomes less: the resize follows after the agent has reported CacheMemory.
	Shrinks bool `json:"shrinks,omitempty"`
	// Restarts are the containers that have to restart, by name, with the IDs that they had before.
	Restarts map[string]string `json:"restarts,omitempty"`
	// Items is how many items memcached had before its restart; 0 if they need not survive.
	Items int64 `json:"items,omitempty"`
	// SilentSince is since when the agent has not answered, although a restart waits for it; nil if it has.
	SilentSince *time.Time `json:"silentSince,omitempty"`
	// Process is the process ID that memcached had before its restart.
	Process int64 `json:"process,omitempty"`
	// Run is the run of memcached before its restart; empty if an older agent reported, or an older operator wrote this.
	Run string `json:"run,omitempty"`
}

// updateStateOf returns the update state of a pod, nil if the pod has none. One that cannot be read has no revision, so another
// one replaces it.
func updateStateOf(pod *corev1.Pod) *updateState {
	text, found := pod.Annotations[UpdateAnnotation]
	if !found {
		return nil
	}
	state := &updateState{}
	if json.Unmarshal([]byte(text), state) != nil {
		return &updateState{}
	}
	return state
}

// before reports whether an agent still reports on the memcached from before its restart. A node that reboots can use a process ID
// again, so the runs are compared where both are known.
func (u updateState) before(state *agentapi.State) bool {
	if u.Run != "" && state.Run != "" {
		return u.Run == state.Run
	}
	return u.Process == state.Process
}

// text returns what UpdateAnnotation holds.
func (u updateState) text() *string {
	raw, _ := json.Marshal(u) // Texts, numbers and times can always be encoded.
	return ptr.To(string(raw))
}
