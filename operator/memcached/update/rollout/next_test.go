package rollout_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/operator/memcached/update/rollout"
)

func TestNone(t *testing.T) {
	c := newCluster(t, 3, withWarmRestart())
	expect(t, c.next(), rollout.None, -1, "")
	c.unready(1, time.Hour)
	expect(t, c.next(), rollout.None, -1, "")
	c.set.Generation++
	expect(t, c.next(), rollout.Wait, -1, "Kubernetes has not processed")
	c.set.Spec.Replicas = ptr.To[int32](0)
	c.seeTemplate()
	expect(t, c.next(), rollout.None, -1, "")
}

// A process that was paused while another one led has the StatefulSet of the other one, and only its own records. By these, pods of the old
// template would be up to date: they would get the label of the new revision, and stay as they are for good.
func TestATemplateThatNobodyHasTheRecordOf(t *testing.T) {
	c := newCluster(t, 2, withWarmRestart())
	before := slices.Clone(c.records)
	c.want(withWarmRestart().with(newAgent))
	input := c.input()
	input.Records = before
	step, err := rollout.Next(input)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, step, rollout.Wait, -1, "has just been given another pod template")
	expect(t, c.next(), rollout.Patch, 1, "agentImage (Live)")
}

// A missing pod is waited for although all others are up to date, because no watched object may report it.
func TestAMissingPodIsWaitedFor(t *testing.T) {
	c := newCluster(t, 3, withWarmRestart())
	for _, step := range []struct {
		overdue time.Duration
		message string
		stuck   bool
	}{
		{0, "cache-1 does not exist yet", false},
		{10*time.Minute - time.Second, "cache-1 does not exist yet", false},
		{10 * time.Minute, "cache-1 has been terminating for more than ten minutes", true},
	} {
		c.pod(1).DeletionTimestamp = &metav1.Time{Time: c.now.Add(-step.overdue)}
		got := c.next()
		expect(t, got, rollout.Wait, -1, step.message)
		if got.Stuck != step.stuck {
			t.Errorf("after %s, stuck is %t", step.overdue, got.Stuck)
		}
	}
	delete(c.pods, "cache-1")
	if step := c.next(); step.Stuck {
		t.Errorf("the step is %+v", step)
	}
	expect(t, c.next(), rollout.Wait, -1, "cache-1 does not exist yet")
	c.settle(10)
	expect(t, c.next(), rollout.None, -1, "")
}

// `kubectl rollout restart` would lose the items, so the pods go on and the user is told. The pods have to get the label with the new
// revision.
func TestARolloutRestartRestartsNothing(t *testing.T) {
	c := newCluster(t, 2, withWarmRestart())
	before, process := c.uids(), c.simulatedPod(1).process
	c.set.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] = "now"
	c.set.Generation++
	c.seeTemplate()
	step := c.next()
	expect(t, step, rollout.Patch, 1, "cache-1 was not restarted: kubectl rollout restart does not restart the pods of a StatefulSet")
	if progress := c.input().Progress(step); !step.Ignores || progress.Updated != 1 {
		t.Errorf("the step is %+v, and with it %d pods are up to date", step, progress.Updated)
	}
	if steps := summarise(c.run(5)); steps != "Patch 1, Patch 0" || c.uids() != before || c.simulatedPod(1).process != process {
		t.Errorf("made the steps %s", steps)
	}
	expect(t, c.next(), rollout.None, -1, "")
	c.want(withWarmRestart().with(newAgent))
	expect(t, c.next(), rollout.Patch, 1, "agentImage (Live)")
}

// A pod that was created after `kubectl rollout restart` was restarted, whatever else changes.
func TestARolloutRestartIsReportedOnce(t *testing.T) {
	c := newCluster(t, 1, withWarmRestart())
	c.policy = func(template *corev1.PodTemplateSpec) {
		template.Annotations["kubectl.kubernetes.io/restartedAt"] = "now"
	}
	c.want(withWarmRestart().with(func(s *templateOptions) { s.labels = map[string]string{"a": "b"} }))
	expect(t, c.next(), rollout.Patch, 0, "cache-0 was not restarted")
	c.run(20)
	c.want(withWarmRestart().with(func(s *templateOptions) { s.labels = map[string]string{"a": "c"} }))
	expect(t, c.next(), rollout.Patch, 0, "cache-0 is up to date now: labels (Live)")
}

func TestLabelsAndAnnotations(t *testing.T) {
	c := newCluster(t, 3, withWarmRestart().with(func(s *templateOptions) {
		s.labels, s.annotations = map[string]string{"team": "a", "old": "yes"}, map[string]string{"note": "1", "stale": "yes"}
	}))
	for ordinal := range 3 {
		c.pod(ordinal).Labels["foreign"], c.pod(ordinal).Annotations["foreign"] = "kept", "kept"
	}
	c.want(withWarmRestart().with(func(s *templateOptions) {
		s.labels, s.annotations = map[string]string{"team": "b"}, map[string]string{"note": "2"}
	}))
	expect(t, c.next(), rollout.Patch, 2, "annotations (Live), labels (Live)")
	if steps := summarise(c.run(10)); steps != "Patch 2, Patch 1, Patch 0" {
		t.Errorf("made the steps %s", steps)
	}
	c.expectDone()
	for ordinal := range 3 {
		pod := c.pod(ordinal)
		_, old := pod.Labels["old"]
		_, stale := pod.Annotations["stale"]
		if old || stale || pod.Labels["team"] != "b" || pod.Annotations["note"] != "2" ||
			pod.Labels["foreign"] != "kept" || pod.Annotations["foreign"] != "kept" || pod.Labels["statefulset.kubernetes.io/pod-name"] != pod.Name {
			t.Errorf("%s has %v and %v", pod.Name, pod.Labels, pod.Annotations)
		}
		if pod.Generation != 1 {
			t.Errorf("%s has the generation %d: more than labels and annotations was changed", pod.Name, pod.Generation)
		}
	}
}

func TestAWarmUpgradeKeepsTheItems(t *testing.T) {
	c := newCluster(t, 3, withWarmRestart())
	before, items := c.uids(), c.simulatedPod(0).items
	c.want(upgraded)
	expect(t, c.next(), rollout.Patch, 2, "image 1.6.18 -> 1.6.45 (Warm)")
	steps := c.run(60)
	if got := summarise(steps); got != "Patch 2, Patch 2, Patch 1, Patch 1, Patch 0, Patch 0" {
		t.Errorf("made the steps %s", got)
	}
	expect(t, steps[1], rollout.Patch, 2, "found its items again")
	c.expectDone()
	if c.uids() != before || c.simulatedPod(0).items < items || c.simulatedPod(1).items < items || c.simulatedPod(2).items < items {
		t.Errorf("items or pods were lost: %s is %s", before, c.uids())
	}
}

func TestAColdChangeReplacesOnePodAfterAnother(t *testing.T) {
	c := newCluster(t, 3, withoutWarmRestart())
	c.want(withoutWarmRestart().with(moreConnections))
	step := c.next()
	expect(t, step, rollout.Replace, 2, "cache-2 is replaced and starts empty: arguments.maxConnections (Cold)")
	if step.Unready {
		t.Error("the pod is ready, so its PodDisruptionBudget has to be respected")
	}
	c.make(step)
	expect(t, c.next(), rollout.Wait, -1, "cache-2 does not exist yet")
	c.tick(func() bool { return true })
	expect(t, c.next(), rollout.Wait, -1, "cache-2 does not exist yet")
	c.tick(func() bool { return true })
	expect(t, c.next(), rollout.Wait, 2, "cache-2 is not ready yet")
	c.settle(10)
	expect(t, c.next(), rollout.Replace, 1, "")
	if got := summarise(c.run(30)); got != "Replace 1, Replace 0" {
		t.Errorf("made the steps %s", got)
	}
	c.expectDone()
}

// When the memory grows, the limit changes first; when it shrinks, the memory for items does.
func TestMemoryInPlace(t *testing.T) {
	for _, test := range []struct {
		name     string
		from, to int64
		steps    string
	}{
		{"grow", 64, 256, "Patch 1, Resize 1, Patch 1, Patch 1, Patch 0, Resize 0, Patch 0, Patch 0"},
		{"shrink", 256, 64, "Patch 1, Resize 1, Patch 1, Patch 0, Resize 0, Patch 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t, 2, withoutWarmRestart().with(func(s *templateOptions) { s.memory = test.from }))
			before, items := c.uids(), c.simulatedPod(0).items
			c.want(withoutWarmRestart().with(func(s *templateOptions) { s.memory = test.to }))
			expect(t, c.next(), rollout.Patch, 1, "cache-1 is changed in place: arguments.cacheMemory (Live), resources.limits.memory (Live), resources.requests.memory (Live)")
			var steps []rollout.Step
			for range 60 {
				steps = append(steps, c.run(1)...)
				for ordinal := range 2 {
					if m := c.simulatedPod(ordinal); m.allocated+32 > m.limit {
						t.Fatalf("%dMi for items in a pod with %dMi", m.allocated, m.limit)
					}
				}
			}
			if got := summarise(steps); got != test.steps {
				t.Errorf("made the steps %s", got)
			}
			c.expectDone()
			if c.uids() != before || c.simulatedPod(0).items < items {
				t.Error("items were lost")
			}
		})
	}
}

func TestWithoutResizeMemoryIsCold(t *testing.T) {
	c := newCluster(t, 2, withoutWarmRestart())
	c.resize = false
	c.want(withoutWarmRestart().with(moreMemory))
	expect(t, c.next(), rollout.Replace, 1, "resources.limits.memory (Cold)")
	c.run(30)
	c.expectDone()
}

func TestTheAgentAloneIsRestarted(t *testing.T) {
	c := newCluster(t, 2, withoutWarmRestart())
	before, process := c.uids(), c.simulatedPod(1).process
	c.want(withoutWarmRestart().with(newAgent))
	expect(t, c.next(), rollout.Patch, 1, "agentImage (Live)")
	if got := summarise(c.run(40)); got != "Patch 1, Patch 1, Patch 0, Patch 0" {
		t.Errorf("made the steps %s", got)
	}
	c.expectDone()
	if c.uids() != before || c.simulatedPod(1).process != process {
		t.Error("memcached was restarted")
	}
}

func TestARefusedResizeStopsTheRolloutAndCanBeReverted(t *testing.T) {
	for _, reason := range []string{corev1.PodReasonInfeasible, corev1.PodReasonDeferred} {
		c := newCluster(t, 2, withoutWarmRestart())
		before := c.uids()
		c.simulatedPod(1).refusesResize = reason
		c.want(withoutWarmRestart().with(func(s *templateOptions) { s.memory = 4096 }))
		if got := summarise(c.run(20)); got != "Patch 1, Resize 1" {
			t.Errorf("made the steps %s", got)
		}
		step := c.next()
		expect(t, step, rollout.Wait, 1, "cache-1 cannot be resized ("+reason+"): no room")
		expectStuck(t, step)
		c.want(withoutWarmRestart())
		c.run(20)
		c.expectDone()
		if c.uids() != before {
			t.Error("a pod was replaced")
		}
	}
}

func TestUnwantedAndTerminatingPodsAreNotChanged(t *testing.T) {
	c := newCluster(t, 3, withoutWarmRestart())
	c.want(withoutWarmRestart().with(moreConnections))
	c.set.Spec.Replicas = ptr.To[int32](2)
	expect(t, c.next(), rollout.Replace, 1, "")
	c.pod(2).DeletionTimestamp = &metav1.Time{Time: c.now}
	expect(t, c.next(), rollout.Replace, 1, "")

	c.pod(1).DeletionTimestamp = &metav1.Time{Time: c.now}
	expect(t, c.next(), rollout.Wait, -1, "cache-1 does not exist yet")
	delete(c.pods, "cache-1")
	expect(t, c.next(), rollout.Wait, -1, "cache-1 does not exist yet")
	c.pods["cache-x"] = c.pod(0).DeepCopy()
	c.pods["cache-x"].Name = "cache-x"
	expect(t, c.next(), rollout.Wait, -1, "cache-1 does not exist yet")
}

func TestAPodOfAnUnknownRevision(t *testing.T) {
	c := newCluster(t, 2, withWarmRestart())
	c.pod(0).Labels[appsv1.ControllerRevisionHashLabelKey] = "cache-lost"
	before := c.uids()
	step := c.next()
	expect(t, step, rollout.Wait, 0, `cache-0 cannot be compared with the template: its ControllerRevision "cache-lost" does not exist. Delete the pod to have it created again`)
	expectStuck(t, step)
	c.run(30)
	if c.uids() != before {
		t.Error("a pod with items was replaced")
	}
	c.unready(0, time.Hour)
	expect(t, c.next(), rollout.Replace, 0, "serves no clients")
}

// Reverting what others change on a pod that is up to date could go on for ever.
func TestAPodThatIsUpToDateIsNotChanged(t *testing.T) {
	c := newCluster(t, 2, withWarmRestart())
	c.pod(0).Spec.Containers[0].Image = "mirror/memcached:1.6.18"
	c.pod(0).Labels["app"] = "other"
	expect(t, c.next(), rollout.None, -1, "")
}

func TestATemplateThatCannotBeRead(t *testing.T) {
	c := newCluster(t, 2, withoutWarmRestart())
	unreadable := withWarmRestart().template()
	unreadable.Spec.Containers[0].Args = []string{"-m"}
	c.wantTemplate(unreadable)
	if step, err := rollout.Next(c.input()); err == nil ||
		err.Error() != "the pod template of StatefulSet default/cache: memcached's argument -m: it has no value" {
		t.Errorf("got %+v and %v", step, err)
	}
}

func TestProgress(t *testing.T) {
	c := newCluster(t, 3, withWarmRestart())
	c.want(upgraded)
	progress := func() string {
		step := c.next()
		return fmt.Sprintf("%+v", c.input().Progress(step))
	}
	if got := progress(); got != "{Updated:0 Pod:cache-2 Message:cache-2 is changed in place: image 1.6.18 -> 1.6.45 (Warm) Pulling: Stuck:false}" {
		t.Error(got)
	}
	c.run(1)
	if got := progress(); got != "{Updated:0 Pod:cache-2 Message:memcached in cache-2 is restarting Pulling: Stuck:false}" {
		t.Error(got)
	}
	c.run(60)
	if got := progress(); got != "{Updated:3 Pod: Message: Pulling: Stuck:false}" {
		t.Error(got)
	}
}
