package pods_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/operator/kube/pods"
)

var morning = time.Date(2026, 5, 4, 8, 0, 0, 0, time.UTC)

func TestOrdinal(t *testing.T) {
	for name, want := range map[string]struct {
		ordinal int32
		has     bool
	}{
		"cache-0": {0, true}, "cache-12": {12, true}, "cache-x": {}, "cache-": {}, "cache": {}, "cache--1": {},
		"other-1": {}, "cache-1-2": {}, "cache-5d9c8b7f4d-x7k2p": {}, "cache-99999999999": {},
	} {
		if ordinal, has := pods.Ordinal("cache", name); has != want.has || has && ordinal != want.ordinal {
			t.Errorf("%s: got ordinal %d, %t; want %d, %t", name, ordinal, has, want.ordinal, want.has)
		}
	}
}

func TestEnding(t *testing.T) {
	deleted := &metav1.Time{Time: morning}
	for name, test := range map[string]struct {
		deleted *metav1.Time
		phase   corev1.PodPhase
		want    bool
	}{
		"running":       {nil, corev1.PodRunning, false},
		"starting":      {nil, corev1.PodPending, false},
		"new":           {nil, "", false},
		"being deleted": {deleted, corev1.PodRunning, true},
		"evicted":       {nil, corev1.PodFailed, true},
		"completed":     {nil, corev1.PodSucceeded, true},
	} {
		pod := &corev1.Pod{}
		pod.DeletionTimestamp, pod.Status.Phase = test.deleted, test.phase
		if got := pods.Ending(pod); got != test.want {
			t.Errorf("a pod that is %s: Ending is %t, want %t", name, got, test.want)
		}
	}
}

func TestReadiness(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(morning)}}
	if pods.Ready(pod) || !pods.ReadinessSince(pod).Equal(morning) {
		t.Errorf("a new pod: Ready is %t, ReadinessSince is %s", pods.Ready(pod), pods.ReadinessSince(pod))
	}
	for _, status := range []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse} {
		later, scheduled := morning.Add(time.Minute), metav1.NewTime(morning.Add(time.Hour))
		pod.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: scheduled},
			{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.NewTime(later)},
		}
		ready, since := pods.Ready(pod), pods.ReadinessSince(pod)
		if ready != (status == corev1.ConditionTrue) || !since.Equal(later) {
			t.Errorf("condition Ready %s: Ready is %t, ReadinessSince is %s", status, ready, since)
		}
	}
}

func TestUnschedulable(t *testing.T) {
	for name, test := range map[string]struct {
		kind   corev1.PodConditionType
		status corev1.ConditionStatus
		reason string
		want   bool
	}{
		"no node":   {corev1.PodScheduled, corev1.ConditionFalse, "Unschedulable", true},
		"gated":     {corev1.PodScheduled, corev1.ConditionFalse, "SchedulingGated", false},
		"scheduled": {corev1.PodScheduled, corev1.ConditionTrue, "", false},
		"not ready": {corev1.PodReady, corev1.ConditionFalse, "Unschedulable", false},
	} {
		pod := &corev1.Pod{}
		pod.Status.Conditions = []corev1.PodCondition{
			{Type: test.kind, Status: test.status, Reason: test.reason, Message: "0/3 nodes are available"},
		}
		if why, yes := pods.Unschedulable(pod); yes != test.want || yes && why != "0/3 nodes are available" {
			t.Errorf("%s: got %t, %q; want %t", name, yes, why, test.want)
		}
	}
}

func TestStartFailures(t *testing.T) {
	for reason, want := range map[string]string{
		"":                     "",
		"ContainerCreating":    "",
		"CrashLoopBackOff":     "",
		"ErrImagePull":         `the image "agent:2" of container agent cannot be pulled (ImagePullBackOff)`,
		"ImagePullBackOff":     `the image "agent:2" of container agent cannot be pulled (ImagePullBackOff)`,
		"ErrImageNeverPull":    `the image "agent:2" of container agent is not on the node (ErrImageNeverPull)`,
		"CreateContainerError": `with image "agent:2", container agent cannot be created (CreateContainerError)`,
	} {
		container := corev1.Container{Name: "agent", Image: "agent:2"}
		status := corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}
		if got := pods.StartFailure(container, status); got != want {
			t.Errorf("%q: got %q, want %q", reason, got, want)
		}
	}
	if got := pods.StartFailure(corev1.Container{}, corev1.ContainerStatus{}); got != "" {
		t.Errorf("a container that is not waiting has the start failure %q", got)
	}
}
