package rollout

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// UpdateAnnotation is on a pod that is being changed in place. Whoever takes it away declares the pod to be done.
const UpdateAnnotation = "cache.example.com/update"

// updateState is what UpdateAnnotation holds, in JSON. Its names are on running pods when the operator is upgraded, so they stay.
type updateState struct {
	// Revision is what the pod is being brought to.
	Revision string `json:"revision"`

	// Since is when that began.
	Since time.Time `json:"since"`

	// Patched is on when images, labels and annotations have been set.
	Patched bool `json:"patched,omitempty"`

	// Given is the revision that the pod had its images, labels and annotations from until it is Patched; empty if that is
	// not known.
	Given string `json:"given,omitempty"`

	// Sizes are the revisions that the pod may have had its CPU and memory from before: that of its label, and those that it
	// was on its way to.
	Sizes []string `json:"sizes,omitempty"`

	// CacheMemory is what the agent has to report, in MiB; 0 if that does not change.
	CacheMemory int64 `json:"cacheMemory,omitempty"`

	// Shrinks is on when the memory limit becomes less: it follows after the agent has reported CacheMemory.
	Shrinks bool `json:"shrinks,omitempty"`

	// Restarts are the IDs of the containers that have to be followed by others, by their names.
	Restarts map[string]string `json:"restarts,omitempty"`

	// Items is how many items memcached held before it was restarted; 0 if they need not survive.
	Items int64 `json:"items,omitempty"`

	// Process is the process ID that memcached had then.
	Process int64 `json:"process,omitempty"`
}

// updateStateOf reads the mark of a pod. One that cannot be read is that of no revision, and so gets replaced.
func updateStateOf(pod *corev1.Pod) *updateState {
	text, found := pod.Annotations[UpdateAnnotation]
	if !found {
		return nil
	}
	m := &updateState{}
	if json.Unmarshal([]byte(text), m) != nil {
		return &updateState{}
	}
	return m
}

func (m updateState) text() (string, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return "", fmt.Errorf("encode the annotation %s: %w", UpdateAnnotation, err)
	}
	return string(text), nil
}

// given returns the revision that the pod got its images, labels and annotations from, empty if that is not known.
func (n *member) given() string {
	switch {
	case n.update == nil:
		return n.revision()
	case n.update.Patched:
		return n.update.Revision
	}
	return n.update.Given
}

// sizes returns the revisions of which one gave the pod its CPU and memory. A resize cannot be noted in the same step as it is
// made, so all that the pod was on its way to count. A mark that cannot be read is that of a revision that does not exist.
func (n *member) sizes() []string {
	switch {
	case n.update == nil:
		return []string{n.revision()}
	case slices.Contains(n.update.Sizes, n.update.Revision):
		return n.update.Sizes
	}
	return append(slices.Clone(n.update.Sizes), n.update.Revision)
}

// awaited returns the container of a restart that has been asked for and not begun yet, empty if there is none. A container
// that has ended counts as restarted: whatever follows it has the image that the pod has then.
func (n *member) awaited() string {
	if n.update == nil {
		return ""
	}
	for _, container := range sortedKeys(n.update.Restarts) {
		status := n.container(container)
		if status.ContainerID == n.update.Restarts[container] && status.State.Running != nil {
			return container
		}
	}
	return ""
}

// unfinished returns the container of a restart that has been asked for and that no other has followed, empty if there is
// none.
func (n *member) unfinished() string {
	for _, container := range sortedKeys(n.update.Restarts) {
		if n.container(container).ContainerID == n.update.Restarts[container] {
			return container
		}
	}
	return ""
}
