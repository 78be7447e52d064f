package nodes

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// brokenAfter is how long a pod that runs may not be ready before it counts as broken. A pod of a cache that is only
	// overloaded comes back earlier.
	brokenAfter = time.Minute

	// stuckAfter is how long anything may take before it counts as stuck: that of Kubernetes' own Deployments.
	stuckAfter = 10 * time.Minute
)

// startFailures are why a container waits and will go on waiting. Names that alternate while nothing changes are made one,
// so that messages stay as they are.
var startFailures = map[string]string{
	"ErrImagePull":               "the image %q of container %s cannot be pulled (ImagePullBackOff)",
	"ImagePullBackOff":           "the image %q of container %s cannot be pulled (ImagePullBackOff)",
	"InvalidImageName":           "the image %q of container %s has an invalid name (InvalidImageName)",
	"ErrImageNeverPull":          "the image %q of container %s is not on the machine (ErrImageNeverPull)",
	"CreateContainerConfigError": "with image %q, container %s cannot be created (CreateContainerError)",
	"CreateContainerError":       "with image %q, container %s cannot be created (CreateContainerError)",
	"RunContainerError":          "with image %q, container %s cannot be started (RunContainerError)",
	"CrashLoopBackOff":           "with image %q, container %s does not keep running (CrashLoopBackOff)",
}

// failure returns what keeps a pod from becoming ready, empty if nothing is known to.
func (n *node) failure() string {
	if scheduled := conditionOf(n.pod, corev1.PodScheduled); scheduled != nil && scheduled.Status == corev1.ConditionFalse &&
		scheduled.Reason == corev1.PodReasonUnschedulable {
		return "no machine has room for it: " + scheduled.Message
	}
	for _, container := range slices.Concat(n.pod.Spec.InitContainers, n.pod.Spec.Containers) {
		if waiting := n.container(container.Name).State.Waiting; waiting != nil && startFailures[waiting.Reason] != "" {
			return fmt.Sprintf(startFailures[waiting.Reason], container.Image, container.Name)
		}
	}
	return ""
}

// broken tells whether a pod serves nobody and is not about to.
func (n *node) broken(now time.Time) bool {
	return !n.ready() && (n.failure() != "" || now.Sub(n.unreadySince()) >= brokenAfter)
}

// unreadySince returns when the pod was last ready, or began to be.
func (n *node) unreadySince() time.Time {
	since := n.pod.CreationTimestamp.Time
	if ready := conditionOf(n.pod, corev1.PodReady); ready != nil && ready.LastTransitionTime.After(since) {
		since = ready.LastTransitionTime.Time
	}
	return since
}

// notReady waits for a pod that is not ready.
func (r *rollout) notReady(n *node) Step {
	step := Step{Kind: Wait, Pod: n.pod, After: later, Why: n.name() + " is not ready yet"}
	if failure := n.failure(); failure != "" {
		step.Why, step.Stuck = fmt.Sprintf("%s is not ready: %s", n.name(), failure), true
	}
	if r.Now.Sub(n.unreadySince()) >= stuckAfter {
		step.Stuck = true
		if n.failure() == "" {
			step.Why = n.name() + " has not been ready for more than ten minutes"
		}
	}
	return step
}
