// Package pods interprets pods: names, containers and conditions. It is pure, and the only place that does so, because
// decisions and status messages must agree.
package pods

import (
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Condition returns the condition of the given type, nil if the pod has none.
func Condition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// Ready tells whether a pod is ready.
func Ready(pod *corev1.Pod) bool {
	ready := Condition(pod, corev1.PodReady)
	return ready != nil && ready.Status == corev1.ConditionTrue
}

// ReadinessSince returns the time since which a pod has been ready or not ready.
func ReadinessSince(pod *corev1.Pod) time.Time {
	since := pod.CreationTimestamp.Time
	if ready := Condition(pod, corev1.PodReady); ready != nil && ready.LastTransitionTime.After(since) {
		since = ready.LastTransitionTime.Time
	}
	return since
}

// Unschedulable tells whether the scheduler finds no node for a pod, and why.
func Unschedulable(pod *corev1.Pod) (why string, yes bool) {
	scheduled := Condition(pod, corev1.PodScheduled)
	if scheduled == nil || scheduled.Status != corev1.ConditionFalse || scheduled.Reason != corev1.PodReasonUnschedulable {
		return "", false
	}
	return scheduled.Message, true
}

// Ending tells whether a pod is being deleted or has terminated. Its controller replaces it without further action.
func Ending(pod *corev1.Pod) bool {
	ended := pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
	return ended || !pod.DeletionTimestamp.IsZero()
}

// Usable tells whether a pod is ready and not ending, as the condition ready of an EndpointSlice does.
func Usable(pod *corev1.Pod) bool { return Ready(pod) && !Ending(pod) }

// Container returns the container called name, nil if there is none.
func Container(containers []corev1.Container, name string) *corev1.Container {
	for i := range containers {
		if containers[i].Name == name {
			return &containers[i]
		}
	}
	return nil
}

// Ordinal returns the ordinal in a pod's name, if the StatefulSet called set has given it that name.
func Ordinal(set, pod string) (int32, bool) {
	suffix, found := strings.CutPrefix(pod, set+"-")
	ordinal, err := strconv.ParseInt(suffix, 10, 32)
	return int32(ordinal), found && err == nil && ordinal >= 0
}
