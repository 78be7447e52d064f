package cluster

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
)

// startContainers starts the containers of a pod that do not run yet, or whose image has changed, and reports the
// resources that they are given. New containers stay in the state sick, unless it is empty. It returns whether the status
// has changed.
func startContainers(pod *corev1.Pod, sick corev1.ContainerState) bool {
	changed := false
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		index := slices.IndexFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == container.Name })
		if index < 0 {
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: container.Name, RestartCount: -1})
			index = len(pod.Status.ContainerStatuses) - 1
		}
		status := &pod.Status.ContainerStatuses[index]
		if status.Image != container.Image {
			start(status, container.Image, sick)
			changed = true
		}
		if status.Resources == nil || !sameResources(*status.Resources, container.Resources) {
			status.Resources = container.Resources.DeepCopy()
			changed = true
		}
	}
	ready := !slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return !s.Ready })
	if changed {
		setReady(pod, ready)
	}
	return changed
}

func start(status *corev1.ContainerStatus, image string, sick corev1.ContainerState) {
	status.Image, status.ImageID = image, image
	status.ContainerID = fmt.Sprintf("played://%s", rand.String(12))
	status.RestartCount++
	status.Ready = sick == corev1.ContainerState{}
	status.Started = &status.Ready
	status.State = sick
	if status.Ready {
		status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
	}
}

func setReady(pod *corev1.Pod, ready bool) {
	condition := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Now()}
	pod.Status.Phase = corev1.PodPending
	if ready {
		condition.Status, pod.Status.Phase = corev1.ConditionTrue, corev1.PodRunning
	}
	pod.Status.ObservedGeneration = pod.Generation
	pod.Status.Conditions = []corev1.PodCondition{condition}
}

func sameResources(a, b corev1.ResourceRequirements) bool {
	return a.Limits.Memory().Equal(*b.Limits.Memory()) && a.Limits.Cpu().Equal(*b.Limits.Cpu()) &&
		a.Requests.Memory().Equal(*b.Requests.Memory()) && a.Requests.Cpu().Equal(*b.Requests.Cpu())
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
