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
	"github.com/example/memcached-operator/operator/memcached/update/pending"
)

// podOf returns the ready pod with an ordinal, whose memcached started at testkit.Now.
func podOf(ordinal int, changes ...func(*corev1.Pod)) corev1.Pod {
	created := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name:            fmt.Sprintf("cache-%d", ordinal),
		OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet", Name: "cache", Controller: ptr.To(true)}},
	}}
	created.Spec.Containers = []corev1.Container{{Name: pod.MemcachedContainer, Image: "memcached:new"}}
	created.Status.PodIP = fmt.Sprintf("10.0.0.%d", ordinal)
	created.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	created.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: pod.MemcachedContainer, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: testkit.Now}},
	}}
	for _, change := range changes {
		change(&created)
	}
	return created
}

// keeping adds the volume for the items of a warm restart.
func keeping(created *corev1.Pod) { created.Spec.Volumes = []corev1.Volume{{Name: pod.CacheVolume}} }

func TestEndpoints(t *testing.T) {
	earlier := metav1.NewTime(testkit.Now.Add(-time.Hour))
	reported := v1alpha1.MemcachedStatus{Endpoints: []v1alpha1.MemcachedEndpoint{{Pod: "cache-0", Since: &testkit.Now, Items: v1alpha1.ItemsWarm}}}
	reportedEarlier := v1alpha1.MemcachedStatus{Endpoints: []v1alpha1.MemcachedEndpoint{{Pod: "cache-0", Since: &earlier, Items: v1alpha1.ItemsWarm}}}
	for name, test := range map[string]struct {
		before v1alpha1.MemcachedStatus
		pods   []corev1.Pod
		agents map[string]*agentapi.State
		spec   v1alpha1.MemcachedSpec
		want   string // pod, address, version, ready, items
	}{
		"in the order of ordinals": {pods: []corev1.Pod{podOf(0), podOf(10), podOf(2)},
			want: "cache-0 10.0.0.0 1.6.45 true Cold, cache-2 10.0.0.2 1.6.45 true Cold, cache-10 10.0.0.10 1.6.45 true Cold"},
		"a pod that terminates": {pods: []corev1.Pod{podOf(0, func(p *corev1.Pod) { p.DeletionTimestamp = &testkit.Now }), podOf(1)},
			want: "cache-1 10.0.0.1 1.6.45 true Cold"},
		"a pod that has not started": {pods: []corev1.Pod{podOf(0, func(p *corev1.Pod) { p.Status = corev1.PodStatus{} })},
			want: "cache-0  1.6.45 false "},
		"an image of the user's": {pods: []corev1.Pod{podOf(0, func(p *corev1.Pod) { p.Spec.Containers[0].Image = "mine" })},
			want: "cache-0 10.0.0.0  true Cold"},
		"an image of the user's with a known version": {pods: []corev1.Pod{podOf(0, func(p *corev1.Pod) {
			p.Spec.Containers[0].Image, p.Annotations = "mine", map[string]string{pod.VersionAnnotation: "1.6.38"}
		})}, want: "cache-0 10.0.0.0 1.6.38 true Cold"},
		"an image of the user's whose version was said later": {
			spec: v1alpha1.MemcachedSpec{Image: "mine", Version: "1.6.40"},
			pods: []corev1.Pod{podOf(0, func(p *corev1.Pod) { p.Spec.Containers[0].Image = "mine" })}, want: "cache-0 10.0.0.0 1.6.40 true Cold",
		},
		"a warm start": {pods: []corev1.Pod{podOf(0, keeping)}, agents: map[string]*agentapi.State{"cache-0": {Warm: true}},
			want: "cache-0 10.0.0.0 1.6.45 true Warm"},
		"a cold start that could have been warm": {pods: []corev1.Pod{podOf(0, keeping)}, agents: map[string]*agentapi.State{"cache-0": {}},
			want: "cache-0 10.0.0.0 1.6.45 true Cold"},
		"an agent that cannot be reached":             {pods: []corev1.Pod{podOf(0, keeping)}, want: "cache-0 10.0.0.0 1.6.45 true "},
		"an agent that reported since the start":      {before: reported, pods: []corev1.Pod{podOf(0, keeping)}, want: "cache-0 10.0.0.0 1.6.45 true Warm"},
		"an agent that reported before another start": {before: reportedEarlier, pods: []corev1.Pod{podOf(0, keeping)}, want: "cache-0 10.0.0.0 1.6.45 true "},
	} {
		t.Run(name, func(t *testing.T) {
			in := of(testkit.MakeMemcached("cache").Status(test.before).Obj())
			in.Memcached.Spec = test.spec
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

// statefulSet is a StatefulSet with three pods, some of which are up to date and ready.
func statefulSet(updated, ready int32) workload.Observed {
	return workload.Observed{
		StatefulSet: &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Name: "cache"}, Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](3)},
			Status: appsv1.StatefulSetStatus{Replicas: 3, UpdatedReplicas: updated, ReadyReplicas: ready},
		},
		Pods: []corev1.Pod{podOf(0), podOf(1), podOf(2)},
	}
}

func TestProgressOfAStatefulSet(t *testing.T) {
	restarting := podOf(2, func(p *corev1.Pod) {
		p.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"}}
	})
	refused := statefulSet(2, 2)
	refused.StatefulSet.Status.Replicas, refused.CreateFailure = 2, "exceeded quota: small"
	moving := statefulSet(3, 1)
	moving.Outgoing = &workload.Status{Replicas: 3, Ready: 3}
	for name, test := range map[string]struct {
		observed workload.Observed
		progress workload.Progress
		want     string
		message  string
	}{
		"all pods are up to date": {statefulSet(3, 3), workload.Progress{Updated: 3}, "AllNodesReady", "3 of 3 pods are ready"},
		"one by one": {statefulSet(1, 3), workload.Progress{Updated: 1, Pod: "cache-1", Message: "cache-1 is resized"}, "NodesUpdating",
			"1 of 3 pods are up to date. cache-1 is resized"},
		"the pod that is being restarted is not failing": {
			workload.Observed{StatefulSet: statefulSet(1, 2).StatefulSet, Pods: []corev1.Pod{podOf(0), podOf(1), restarting}},
			workload.Progress{Updated: 1, Pod: "cache-2", Message: "cache-2 is restarting"}, "NodesUpdating", "1 of 3 pods are up to date. cache-2 is restarting",
		},
		"the rollout is stuck": {statefulSet(1, 3), workload.Progress{Updated: 1, Pod: "cache-1", Message: "cache-1 cannot be resized", Stuck: true}, "UpdateStuck", "cache-1 cannot be resized"},
		"a quota is used up": {refused, workload.Progress{Updated: 2, Message: "cache-2 does not exist yet"}, "NodesRefused",
			"Kubernetes refuses to create pods: exceeded quota: small"},
		"a cache that moves to another workload counts all ready pods": {moving, workload.Progress{Updated: 3}, "NodesStopping", "Stopping surplus pods: 3 wanted"},
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

func TestProgressWhileImagesAreMissingOnNodes(t *testing.T) {
	pulled := pending.Pull{Message: "Images are being pulled on node a"}
	failed := pending.Pull{Message: "On node a, the image cannot be pulled", Failed: true}
	asked := pending.Pull{Message: failed.Message, Failed: true, ByUser: true}
	deployment := workload.Observed{Deployment: testkit.Deployment(3, 3, 3), Pods: testkit.Pods(3)}
	for name, test := range map[string]struct {
		observed workload.Observed
		progress *workload.Progress
		pull     pending.Pull
		want     string
		message  string
	}{
		"an update waits for the images":             {deployment, nil, pulled, "NodesUpdating", "Images are being pulled on node a"},
		"an update that has begun goes on meanwhile": {statefulSet(1, 3), &workload.Progress{Updated: 1, Message: "cache-1 is resized"}, pulled, "NodesUpdating", "1 of 3 pods are up to date. cache-1 is resized"},
		"an image that the user has not asked for":   {deployment, nil, failed, "AllNodesReady", "3 of 3 pods are ready"},
		"an image that the user has asked for":       {deployment, nil, asked, "UpdateStuck", asked.Message},
		"another pod is stuck already":               {statefulSet(1, 3), &workload.Progress{Updated: 1, Message: "cache-1 cannot be resized", Stuck: true}, asked, "UpdateStuck", "cache-1 cannot be resized"},
		"an update that has begun needs the image":   {statefulSet(1, 3), &workload.Progress{Updated: 1, Message: "cache-1 waits"}, asked, "UpdateStuck", asked.Message},
	} {
		t.Run(name, func(t *testing.T) {
			in := of(testkit.MakeMemcached("cache").Size(3).Obj())
			got := status.Memcached(in, desired.Plan{Pull: &test.pull}, status.Runtime{Progress: test.progress}, conditions.Reconcile{Now: testkit.Now, Observed: test.observed})
			ready := meta.FindStatusCondition(got.Conditions, v1alpha1.ConditionReady)
			if ready.Reason != test.want || ready.Message != test.message {
				t.Errorf("Ready says %s: %s, want %s: %s", ready.Reason, ready.Message, test.want, test.message)
			}
		})
	}
}

func TestAnImageThatCannotBePulledIsReportedBesideAnotherPendingChange(t *testing.T) {
	plan := desired.Plan{
		Pending: &v1alpha1.MemcachedPending{ID: "abc", Class: "Cold", Changes: []v1alpha1.MemcachedChange{{Field: "image"}, {Field: "agentImage"}}},
		Pull:    &pending.Pull{Message: `On node a, the image "agent:2" cannot be pulled (ImagePullBackOff)`, Failed: true},
	}
	in := of(testkit.MakeMemcached("cache").Size(3).Obj())
	got := status.Memcached(in, plan, status.Runtime{}, conditions.Reconcile{Now: testkit.Now, Observed: statefulSet(3, 3)})
	message := meta.FindStatusCondition(got.Conditions, v1alpha1.ConditionUpdatePending).Message
	for _, part := range []string{"waits for approval: image, agentImage. ", plan.Pull.Message + ". ", `"release":"abc"`} {
		if !strings.Contains(message, part) {
			t.Errorf("the message lacks %q: %s", part, message)
		}
	}
}

// Only an image that the user has asked for can be corrected in the spec. The agent, for example, comes with the operator.
func TestTheSpecIsBlamedOnlyForAnImageOfTheUser(t *testing.T) {
	for byUser, want := range map[bool]string{true: "If the image is wrong, correct spec.image or spec.version. ", false: "Make the image available to the node. "} {
		plan := desired.Plan{
			Pending: &v1alpha1.MemcachedPending{ID: "abc", Class: "Live", Changes: []v1alpha1.MemcachedChange{{Field: "agentImage"}}},
			Pull:    &pending.Pull{Message: "On node a, it cannot be pulled", Failed: true, Alone: true, ByUser: byUser},
		}
		in := of(testkit.MakeMemcached("cache").Size(3).Obj())
		got := status.Memcached(in, plan, status.Runtime{}, conditions.Reconcile{Now: testkit.Now, Observed: statefulSet(3, 3)})
		message := meta.FindStatusCondition(got.Conditions, v1alpha1.ConditionUpdatePending).Message
		if start := plan.Pull.Message + ". The pods keep the image that they have, and the pull is tried again. " + want; !strings.HasPrefix(message, start+"To stop the pods") {
			t.Errorf("asked for by the user: %t: the message is %q, want it to begin with %q", byUser, message, start)
		}
	}
}

func TestAPendingChangeIsReportedAndTheCacheStaysReady(t *testing.T) {
	pending := &v1alpha1.MemcachedPending{ID: "abc", Class: "Cold", Changes: []v1alpha1.MemcachedChange{{Field: "image"}, {Field: "command"}}}
	in := of(testkit.MakeMemcached("cache").Size(3).Obj())
	got := status.Memcached(in, desired.Plan{Pending: pending}, status.Runtime{}, conditions.Reconcile{Now: testkit.Now, Observed: statefulSet(3, 3)})
	if difference := cmp.Diff(pending, got.Pending); difference != "" {
		t.Errorf("status.pending (-want +got):\n%s", difference)
	}
	if !meta.IsStatusConditionTrue(got.Conditions, v1alpha1.ConditionReady) {
		t.Error("a cache is not ready because a change is pending")
	}
	message := meta.FindStatusCondition(got.Conditions, v1alpha1.ConditionUpdatePending).Message
	for _, part := range []string{"image, command", "kubectl patch memcached cache -n default", `"release":"abc"`} {
		if !strings.Contains(message, part) {
			t.Errorf("the message lacks %q: %s", part, message)
		}
	}
	if again := status.Memcached(in, desired.Plan{}, status.Runtime{}, conditions.Reconcile{Now: testkit.Now, Observed: statefulSet(3, 3)}); again.Pending != nil ||
		!meta.IsStatusConditionFalse(again.Conditions, v1alpha1.ConditionUpdatePending) {
		t.Errorf("after the approval, the status is %+v", again)
	}
}
