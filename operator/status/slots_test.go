package status_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/change"
	desired "github.com/example/memcached-operator/operator/desired/memcached"
	"github.com/example/memcached-operator/operator/nodes"
	"github.com/example/memcached-operator/operator/rollout"
	"github.com/example/memcached-operator/operator/scope"
	"github.com/example/memcached-operator/operator/status"
	operatortesting "github.com/example/memcached-operator/operator/testing"
)

// slotOf returns the ready pod of a slot, whose memcached started at the time now.
func slotOf(number int, changes ...func(*corev1.Pod)) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name:            fmt.Sprintf("cache-%d", number),
		OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet", Name: "cache", Controller: ptr.To(true)}},
	}}
	pod.Spec.Containers = []corev1.Container{{Name: change.MemcachedContainer, Image: "memcached:new"}}
	pod.Status.PodIP = fmt.Sprintf("10.0.0.%d", number)
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: change.MemcachedContainer, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
	}}
	for _, change := range changes {
		change(&pod)
	}
	return pod
}

// keeping has the volume for items of a warm restart.
func keeping(pod *corev1.Pod) { pod.Spec.Volumes = []corev1.Volume{{Name: change.CacheVolume}} }

func TestEndpoints(t *testing.T) {
	earlier := metav1.NewTime(now.Add(-time.Hour))
	said := v1alpha1.MemcachedStatus{Endpoints: []v1alpha1.MemcachedEndpoint{{Pod: "cache-0", Since: &now, Items: v1alpha1.ItemsWarm}}}
	saidOfAnother := v1alpha1.MemcachedStatus{Endpoints: []v1alpha1.MemcachedEndpoint{{Pod: "cache-0", Since: &earlier, Items: v1alpha1.ItemsWarm}}}
	for name, test := range map[string]struct {
		before v1alpha1.MemcachedStatus
		pods   []corev1.Pod
		agents map[string]*agentapi.State
		want   string // pod, address, version, ready, items
	}{
		"in the order of slots": {pods: []corev1.Pod{slotOf(0), slotOf(10), slotOf(2)},
			want: "cache-0 10.0.0.0 1.6.45 true Cold, cache-2 10.0.0.2 1.6.45 true Cold, cache-10 10.0.0.10 1.6.45 true Cold"},
		"one that stops": {pods: []corev1.Pod{slotOf(0, func(p *corev1.Pod) { p.DeletionTimestamp = &now }), slotOf(1)},
			want: "cache-1 10.0.0.1 1.6.45 true Cold"},
		"one that has not started": {pods: []corev1.Pod{slotOf(0, func(p *corev1.Pod) { p.Status = corev1.PodStatus{} })},
			want: "cache-0  1.6.45 false "},
		"an image of the user's": {pods: []corev1.Pod{slotOf(0, func(p *corev1.Pod) { p.Spec.Containers[0].Image = "mine" })},
			want: "cache-0 10.0.0.0  true Cold"},
		"an image of the user's of a version that they told": {pods: []corev1.Pod{slotOf(0, func(p *corev1.Pod) {
			p.Spec.Containers[0].Image, p.Annotations = "mine", map[string]string{change.VersionAnnotation: "1.6.38"}
		})}, want: "cache-0 10.0.0.0 1.6.38 true Cold"},
		"a warm start": {pods: []corev1.Pod{slotOf(0, keeping)}, agents: map[string]*agentapi.State{"cache-0": {Warm: true}},
			want: "cache-0 10.0.0.0 1.6.45 true Warm"},
		"a cold start that could have been warm": {pods: []corev1.Pod{slotOf(0, keeping)}, agents: map[string]*agentapi.State{"cache-0": {}},
			want: "cache-0 10.0.0.0 1.6.45 true Cold"},
		"an agent that does not answer":                   {pods: []corev1.Pod{slotOf(0, keeping)}, want: "cache-0 10.0.0.0 1.6.45 true "},
		"an agent that has answered since the start":      {before: said, pods: []corev1.Pod{slotOf(0, keeping)}, want: "cache-0 10.0.0.0 1.6.45 true Warm"},
		"an agent that has answered before another start": {before: saidOfAnother, pods: []corev1.Pod{slotOf(0, keeping)}, want: "cache-0 10.0.0.0 1.6.45 true "},
	} {
		t.Run(name, func(t *testing.T) {
			in := of(operatortesting.MakeMemcached("cache").Status(test.before).Obj())
			in.Images = scope.Images{Memcached: map[string]string{"1.6.45": "memcached:new"}}
			got := status.Memcached(in, desired.Plan{}, status.Nodes{States: test.agents}, status.Pass{Now: now, Observed: scope.Observed{Pods: test.pods}})
			var words []string
			for _, e := range got.Endpoints {
				words = append(words, fmt.Sprintf("%s %s %s %t %s", e.Pod, e.IP, e.Version, e.Ready, e.Items))
				if e.Host != e.Pod+".cache-nodes.default.svc" || e.Port != 11211 {
					t.Errorf("%s is at %s:%d", e.Pod, e.Host, e.Port)
				}
			}
			if text := strings.Join(words, ", "); text != test.want {
				t.Errorf("endpoints are %s, want %s", text, test.want)
			}
		})
	}
}

// inSlots is a StatefulSet of three, so many of which are of the newest template.
func inSlots(updated, ready int32) scope.Observed {
	return scope.Observed{
		StatefulSet: &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Name: "cache"}, Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](3)},
			Status: appsv1.StatefulSetStatus{Replicas: 3, UpdatedReplicas: updated, ReadyReplicas: ready},
		},
		Pods: []corev1.Pod{slotOf(0), slotOf(1), slotOf(2)},
	}
}

func TestProgressOfSlots(t *testing.T) {
	restarting := slotOf(2, func(p *corev1.Pod) {
		p.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"}}
	})
	refused := inSlots(2, 2)
	refused.StatefulSet.Status.Replicas, refused.Refusal = 2, "exceeded quota: small"
	moving := inSlots(3, 1)
	moving.Leaving = &rollout.Account{Replicas: 3, Ready: 3}
	for name, test := range map[string]struct {
		observed scope.Observed
		progress nodes.Progress
		want     string
		message  string
	}{
		"all is done": {inSlots(3, 3), nodes.Progress{Updated: 3}, "AllNodesReady", "3 of 3 nodes are ready"},
		"one by one": {inSlots(1, 3), nodes.Progress{Updated: 1, Pod: "cache-1", Why: "cache-1 is resized"}, "NodesUpdating",
			"1 of 3 nodes are up to date. cache-1 is resized"},
		"the one that is restarted is not failing": {
			scope.Observed{StatefulSet: inSlots(1, 2).StatefulSet, Pods: []corev1.Pod{slotOf(0), slotOf(1), restarting}},
			nodes.Progress{Updated: 1, Pod: "cache-2", Why: "cache-2 is restarting"}, "NodesUpdating", "1 of 3 nodes are up to date. cache-2 is restarting",
		},
		"it does not go on": {inSlots(1, 3), nodes.Progress{Updated: 1, Pod: "cache-1", Why: "cache-1 cannot be resized", Stuck: true}, "UpdateStuck", "cache-1 cannot be resized"},
		"a quota is used up": {refused, nodes.Progress{Updated: 2, Why: "cache-2 is not there yet"}, "NodesRefused",
			"Kubernetes refuses to create nodes: exceeded quota: small"},
		"a cache that moves counts all that serve": {moving, nodes.Progress{Updated: 3}, "NodesStopping", "Stopping what is more than the 3 wanted"},
	} {
		t.Run(name, func(t *testing.T) {
			in := of(operatortesting.MakeMemcached("cache").Size(3).Obj())
			got := status.Memcached(in, desired.Plan{}, status.Nodes{Progress: &test.progress}, status.Pass{Now: now, Observed: test.observed})
			ready := meta.FindStatusCondition(got.Conditions, v1alpha1.ConditionReady)
			if ready.Reason != test.want || ready.Message != test.message {
				t.Errorf("Ready says %s: %s, want %s: %s", ready.Reason, ready.Message, test.want, test.message)
			}
		})
	}
}

func TestAPendingChangeIsShownAndDisturbsNothing(t *testing.T) {
	pending := &v1alpha1.MemcachedPending{ID: "abc", Class: "Cold", Changes: []v1alpha1.MemcachedChange{{Field: "image"}, {Field: "command"}}}
	in := of(operatortesting.MakeMemcached("cache").Size(3).Obj())
	got := status.Memcached(in, desired.Plan{Pending: pending}, status.Nodes{}, status.Pass{Now: now, Observed: inSlots(3, 3)})
	if difference := cmp.Diff(pending, got.Pending); difference != "" {
		t.Errorf("status.pending (-want +got):\n%s", difference)
	}
	if !meta.IsStatusConditionTrue(got.Conditions, v1alpha1.ConditionReady) {
		t.Error("a cache is not ready because a change waits")
	}
	message := meta.FindStatusCondition(got.Conditions, v1alpha1.ConditionUpdatePending).Message
	for _, part := range []string{"image, command", "kubectl patch memcached cache -n default", `"release":"abc"`} {
		if !strings.Contains(message, part) {
			t.Errorf("the message lacks %q: %s", part, message)
		}
	}
	if again := status.Memcached(in, desired.Plan{}, status.Nodes{}, status.Pass{Now: now, Observed: inSlots(3, 3)}); again.Pending != nil ||
		!meta.IsStatusConditionFalse(again.Conditions, v1alpha1.ConditionUpdatePending) {
		t.Errorf("after the release, the status is %+v", again)
	}
}
