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
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/kube/conditions"
	"github.com/example/memcached-operator/operator/kube/workload"
	"github.com/example/memcached-operator/operator/memcached/desired"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/status"
)

// slotOf returns the ready pod of a slot, whose memcached started at the time testkit.Now.
func slotOf(number int, changes ...func(*corev1.Pod)) corev1.Pod {
	made := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name:            fmt.Sprintf("cache-%d", number),
		OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet", Name: "cache", Controller: ptr.To(true)}},
	}}
	made.Spec.Containers = []corev1.Container{{Name: pod.MemcachedContainer, Image: "memcached:new"}}
	made.Status.PodIP = fmt.Sprintf("10.0.0.%d", number)
	made.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	made.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: pod.MemcachedContainer, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: testkit.Now}},
	}}
	for _, change := range changes {
		change(&made)
	}
	return made
}

// keeping has the volume for items of a warm restart.
func keeping(made *corev1.Pod) { made.Spec.Volumes = []corev1.Volume{{Name: pod.CacheVolume}} }

func TestEndpoints(t *testing.T) {
	earlier := metav1.NewTime(testkit.Now.Add(-time.Hour))
	said := v1alpha1.MemcachedStatus{Endpoints: []v1alpha1.MemcachedEndpoint{{Pod: "cache-0", Since: &testkit.Now, Items: v1alpha1.ItemsWarm}}}
	saidOfAnother := v1alpha1.MemcachedStatus{Endpoints: []v1alpha1.MemcachedEndpoint{{Pod: "cache-0", Since: &earlier, Items: v1alpha1.ItemsWarm}}}
	for name, test := range map[string]struct {
		before v1alpha1.MemcachedStatus
		pods   []corev1.Pod
		agents map[string]*agentapi.State
		want   string // pod, address, version, ready, items
	}{
		"in the order of slots": {pods: []corev1.Pod{slotOf(0), slotOf(10), slotOf(2)},
			want: "cache-0 10.0.0.0 1.6.45 true Cold, cache-2 10.0.0.2 1.6.45 true Cold, cache-10 10.0.0.10 1.6.45 true Cold"},
		"one that stops": {pods: []corev1.Pod{slotOf(0, func(p *corev1.Pod) { p.DeletionTimestamp = &testkit.Now }), slotOf(1)},
			want: "cache-1 10.0.0.1 1.6.45 true Cold"},
		"one that has not started": {pods: []corev1.Pod{slotOf(0, func(p *corev1.Pod) { p.Status = corev1.PodStatus{} })},
			want: "cache-0  1.6.45 false "},
		"an image of the user's": {pods: []corev1.Pod{slotOf(0, func(p *corev1.Pod) { p.Spec.Containers[0].Image = "mine" })},
			want: "cache-0 10.0.0.0  true Cold"},
		"an image of the user's of a version that they told": {pods: []corev1.Pod{slotOf(0, func(p *corev1.Pod) {
			p.Spec.Containers[0].Image, p.Annotations = "mine", map[string]string{pod.VersionAnnotation: "1.6.38"}
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
			in := of(testkit.MakeMemcached("cache").Status(test.before).Obj())
			in.Images = inputs.Images{Memcached: map[string]string{"1.6.45": "memcached:new"}}
			got := status.Memcached(in, desired.Plan{}, status.Runtime{States: test.agents}, conditions.Reconcile{Now: testkit.Now, Observed: workload.Observed{Pods: test.pods}})
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
func inSlots(updated, ready int32) workload.Observed {
	return workload.Observed{
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
	refused.StatefulSet.Status.Replicas, refused.CreateFailure = 2, "exceeded quota: small"
	moving := inSlots(3, 1)
	moving.Outgoing = &workload.Status{Replicas: 3, Ready: 3}
	for name, test := range map[string]struct {
		observed workload.Observed
		progress workload.Progress
		want     string
		message  string
	}{
		"all is done": {inSlots(3, 3), workload.Progress{Updated: 3}, "AllNodesReady", "3 of 3 pods are ready"},
		"one by one": {inSlots(1, 3), workload.Progress{Updated: 1, Pod: "cache-1", Message: "cache-1 is resized"}, "NodesUpdating",
			"1 of 3 pods are up to date. cache-1 is resized"},
		"the one that is restarted is not failing": {
			workload.Observed{StatefulSet: inSlots(1, 2).StatefulSet, Pods: []corev1.Pod{slotOf(0), slotOf(1), restarting}},
			workload.Progress{Updated: 1, Pod: "cache-2", Message: "cache-2 is restarting"}, "NodesUpdating", "1 of 3 pods are up to date. cache-2 is restarting",
		},
		"it does not go on": {inSlots(1, 3), workload.Progress{Updated: 1, Pod: "cache-1", Message: "cache-1 cannot be resized", Stuck: true}, "UpdateStuck", "cache-1 cannot be resized"},
		"a quota is used up": {refused, workload.Progress{Updated: 2, Message: "cache-2 is not there yet"}, "NodesRefused",
			"Kubernetes refuses to create pods: exceeded quota: small"},
		"a cache that moves counts all that serve": {moving, workload.Progress{Updated: 3}, "NodesStopping", "Stopping surplus pods: 3 wanted"},
	} {
		t.Run(name, func(t *testing.T) {
			in := of(testkit.MakeMemcached("cache").Size(3).Obj())
			got := status.Memcached(in, desired.Plan{}, status.Runtime{Progress: &test.progress}, conditions.Reconcile{Now: testkit.Now, Observed: test.observed})
			ready := meta.FindStatusCondition(got.Conditions, v1alpha1.ConditionReady)
			if ready.Reason != test.want || ready.Message != test.message {
				t.Errorf("Ready says %s: %s, want %s: %s", ready.Reason, ready.Message, test.want, test.message)
			}
		})
	}
}

func TestAPendingChangeIsShownAndDisturbsNothing(t *testing.T) {
	pending := &v1alpha1.MemcachedPending{ID: "abc", Class: "Cold", Changes: []v1alpha1.MemcachedChange{{Field: "image"}, {Field: "command"}}}
	in := of(testkit.MakeMemcached("cache").Size(3).Obj())
	got := status.Memcached(in, desired.Plan{Pending: pending}, status.Runtime{}, conditions.Reconcile{Now: testkit.Now, Observed: inSlots(3, 3)})
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
	if again := status.Memcached(in, desired.Plan{}, status.Runtime{}, conditions.Reconcile{Now: testkit.Now, Observed: inSlots(3, 3)}); again.Pending != nil ||
		!meta.IsStatusConditionFalse(again.Conditions, v1alpha1.ConditionUpdatePending) {
		t.Errorf("after the release, the status is %+v", again)
	}
}
