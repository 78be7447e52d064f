package testkit

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

// Now is the time at which tests of the status happen.
var Now = metav1.NewTime(time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC))

// Deployment returns a Deployment whose status speaks of its newest spec.
func Deployment(replicas, updated, ready int32, conditions ...appsv1.DeploymentCondition) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "cache", Generation: 2},
		Status: appsv1.DeploymentStatus{
			ObservedGeneration: 2, Replicas: replicas, UpdatedReplicas: updated, ReadyReplicas: ready, Conditions: conditions,
		},
	}
}

// Unseen returns the Deployment with a status of the spec before.
func Unseen(d *appsv1.Deployment) *appsv1.Deployment {
	d.Status.ObservedGeneration = 1
	return d
}

// Pods returns ready pods of the names cache-0, cache-1 and so on, each with the containers memcached and agent.
func Pods(count int) []corev1.Pod {
	var pods []corev1.Pod
	for i := range count {
		pods = append(pods, corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("cache-%d", i)},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "memcached", Image: "memcached:1"}, {Name: "agent", Image: "agent:1"}}},
			Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
		})
	}
	return pods
}

// Unready makes a pod not ready.
func Unready(pod *corev1.Pod) { pod.Status.Conditions[0].Status = corev1.ConditionFalse }

// With changes the first of the pods.
func With(pods []corev1.Pod, change func(*corev1.Pod)) []corev1.Pod {
	change(&pods[0])
	return pods
}

// Container changes the status of the container memcached of a pod.
func Container(change func(*corev1.ContainerStatus)) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "memcached"}}
		change(&pod.Status.ContainerStatuses[0])
	}
}

// WaitingFor makes the container of a pod wait for a reason.
func WaitingFor(reason string) func(*corev1.Pod) {
	return Container(func(c *corev1.ContainerStatus) { c.State.Waiting = &corev1.ContainerStateWaiting{Reason: reason} })
}

// Summarise also checks what holds for all conditions.
func Summarise(t *testing.T, conditions []metav1.Condition) string {
	t.Helper()
	var parts []string
	for _, kind := range []string{
		v1alpha1.ConditionReady, v1alpha1.ConditionAvailable, v1alpha1.ConditionProgressing, v1alpha1.ConditionDegraded,
	} {
		condition := meta.FindStatusCondition(conditions, kind)
		if condition == nil {
			t.Fatalf("condition %s is missing", kind)
		}
		if condition.ObservedGeneration != 7 || condition.Message == "" || condition.LastTransitionTime != Now {
			t.Errorf("condition %s is incomplete: %+v", kind, condition)
		}
		parts = append(parts, string(condition.Status)+"/"+condition.Reason)
	}
	return strings.Join(parts, " ")
}
