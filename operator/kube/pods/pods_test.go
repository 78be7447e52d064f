package pods_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/operator/kube/pods"
)

var morning = time.Date(2026, 5, 4, 8, 0, 0, 0, time.UTC)

func TestSlot(t *testing.T) {
	for name, want := range map[string]struct {
		slot int32
		has  bool
	}{
		"cache-0": {0, true}, "cache-12": {12, true}, "cache-x": {}, "cache-": {}, "cache": {}, "cache--1": {},
		"other-1": {}, "cache-1-2": {}, "cache-5d9c8b7f4d-x7k2p": {}, "cache-99999999999": {},
	} {
		if slot, has := pods.Ordinal("cache", name); has != want.has || has && slot != want.slot {
			t.Errorf("%s has the slot %d: %t", name, slot, has)
		}
	}
}

func TestLeaves(t *testing.T) {
	deleted := &metav1.Time{Time: morning}
	for name, test := range map[string]struct {
		deleted *metav1.Time
		phase   corev1.PodPhase
		want    bool
	}{
		"runs":       {nil, corev1.PodRunning, false},
		"starts":     {nil, corev1.PodPending, false},
		"is new":     {nil, "", false},
		"is deleted": {deleted, corev1.PodRunning, true},
		"evicted":    {nil, corev1.PodFailed, true},
		"has ended":  {nil, corev1.PodSucceeded, true},
	} {
		pod := &corev1.Pod{}
		pod.DeletionTimestamp, pod.Status.Phase = test.deleted, test.phase
		if got := pods.Ending(pod); got != test.want {
			t.Errorf("a pod that %s leaves: %t", name, got)
		}
	}
}

func TestReadiness(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(morning)}}
	if pods.Ready(pod) || !pods.ReadinessSince(pod).Equal(morning) {
		t.Errorf("a new pod is ready: %t, since %s", pods.Ready(pod), pods.ReadinessSince(pod))
	}
	for _, status := range []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse} {
		later, scheduled := morning.Add(time.Minute), metav1.NewTime(morning.Add(time.Hour))
		pod.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: scheduled},
			{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.NewTime(later)},
		}
		ready, since := pods.Ready(pod), pods.ReadinessSince(pod)
		if ready != (status == corev1.ConditionTrue) || !since.Equal(later) {
			t.Errorf("with Ready %s, a pod is ready: %t, since %s", status, ready, since)
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
		"no room":   {corev1.PodScheduled, corev1.ConditionFalse, "Unschedulable", true},
		"a gate":    {corev1.PodScheduled, corev1.ConditionFalse, "SchedulingGated", false},
		"a machine": {corev1.PodScheduled, corev1.ConditionTrue, "", false},
		"another":   {corev1.PodReady, corev1.ConditionFalse, "Unschedulable", false},
	} {
		pod := &corev1.Pod{}
		pod.Status.Conditions = []corev1.PodCondition{
			{Type: test.kind, Status: test.status, Reason: test.reason, Message: "0/3 nodes are available"},
		}
		if why, yes := pods.Unschedulable(pod); yes != test.want || yes && why != "0/3 nodes are available" {
			t.Errorf("%s: %t, because %q", name, yes, why)
		}
	}
}

func TestStartFailures(t *testing.T) {
	for reason, want := range map[string]pods.StartFailure{
		"":                     {},
		"ContainerCreating":    {},
		"CrashLoopBackOff":     {},
		"ErrImagePull":         {OfImage: true, Problem: "cannot be pulled (ImagePullBackOff)"},
		"ImagePullBackOff":     {OfImage: true, Problem: "cannot be pulled (ImagePullBackOff)"},
		"ErrImageNeverPull":    {OfImage: true, Problem: "is not on the machine (ErrImageNeverPull)"},
		"CreateContainerError": {Problem: "cannot be created (CreateContainerError)"},
	} {
		status := corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}
		if got, fails := pods.StartFailureOf(status); got != want || fails != (want != pods.StartFailure{}) {
			t.Errorf("%q is %+v, %t", reason, got, fails)
		}
	}
	if _, fails := pods.StartFailureOf(corev1.ContainerStatus{}); fails {
		t.Error("a container that does not wait fails to start")
	}
}
