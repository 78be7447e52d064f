package kubelet

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// pods is the kubelet: it reports the containers of a pod as running, and ends a pod when it is deleted.
type pods struct{ client.Client }

// Reconcile makes one step for a pod.
func (p pods) Reconcile(ctx context.Context, pod *corev1.Pod) (_ reconcile.Result, err error) {
	if !pod.DeletionTimestamp.IsZero() {
		err = p.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	next := pod.DeepCopy()
	run(next)
	if !equality.Semantic.DeepEqual(pod.Status, next.Status) {
		err = p.Status().Update(ctx, next)
	}
	return reconcile.Result{}, client.IgnoreNotFound(err)
}

// run lets the containers run that the pod wants. Those of a pod that is not restarted end at once, with success.
func run(pod *corev1.Pod) {
	if pod.Status.Phase == corev1.PodSucceeded {
		return
	}
	once := pod.Spec.RestartPolicy == corev1.RestartPolicyNever
	pod.Status.Phase = corev1.PodRunning
	if once {
		pod.Status.Phase = corev1.PodSucceeded
	}
	for i := range pod.Spec.InitContainers {
		runContainer(&pod.Status.InitContainerStatuses, &pod.Spec.InitContainers[i], once)
	}
	for i := range pod.Spec.Containers {
		runContainer(&pod.Status.ContainerStatuses, &pod.Spec.Containers[i], once)
	}
	if !once && !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady }) {
		pod.Status.Conditions = append(pod.Status.Conditions,
			corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()})
	}
	pod.Status.ObservedGeneration = pod.Generation
}

func runContainer(statuses *[]corev1.ContainerStatus, container *corev1.Container, once bool) {
	index := slices.IndexFunc(*statuses, func(s corev1.ContainerStatus) bool { return s.Name == container.Name })
	if index < 0 {
		index = len(*statuses)
		*statuses = append(*statuses, corev1.ContainerStatus{Name: container.Name, RestartCount: -1})
	}
	status := &(*statuses)[index]
	status.Resources = container.Resources.DeepCopy()
	if status.Image == container.Image {
		return
	}
	status.Image, status.ImageID = container.Image, container.Image
	status.ContainerID = "containerd://" + rand.String(12)
	status.RestartCount++
	status.Ready, status.Started = !once, ptr.To(!once)
	status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
	if once {
		status.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"}}
	}
}
