package rollout_test

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/operator/memcached/update/diff"
	"github.com/example/memcached-operator/operator/memcached/update/rollout"
)

func TestNothingToDo(t *testing.T) {
	w := newWorld(t, 3, warm())
	expect(t, w.next(), rollout.None, -1, "")
	w.unready(1, time.Hour)
	expect(t, w.next(), rollout.None, -1, "")
	w.set.Generation++
	expect(t, w.next(), rollout.Wait, -1, "Kubernetes has yet to act")
	w.set.Spec.Replicas = ptr.To[int32](0)
	w.seeTemplate()
	expect(t, w.next(), rollout.None, -1, "")
}

// A pod that is missing is waited for although all others are of the template: nothing that is watched may tell of it.
func TestAMissingPodIsWaitedFor(t *testing.T) {
	w := newWorld(t, 3, warm())
	for _, step := range []struct {
		stopsFor time.Duration
		why      string
		stuck    bool
	}{
		{0, "cache-1 is not there yet", false},
		{10*time.Minute - time.Second, "cache-1 is not there yet", false},
		{10 * time.Minute, "cache-1 has been stopping for more than ten minutes", true},
	} {
		w.pod(1).DeletionTimestamp = &metav1.Time{Time: w.now.Add(-step.stopsFor)}
		got := w.next()
		expect(t, got, rollout.Wait, -1, step.why)
		if got.Stuck != step.stuck {
			t.Errorf("after %s, it is %t that it is stuck", step.stopsFor, got.Stuck)
		}
	}
	delete(w.pods, "cache-1")
	if step := w.next(); step.Stuck {
		t.Errorf("the step is %+v", step)
	}
	expect(t, w.next(), rollout.Wait, -1, "cache-1 is not there yet")
	w.settle(10)
	expect(t, w.next(), rollout.None, -1, "")
}

// What differs in bytes alone is not a change, but the pods have to count as updated.
func TestATemplateThatIsTheSameInOtherWords(t *testing.T) {
	w := newWorld(t, 2, warm())
	before := w.uids()
	w.want(warm().with(func(s *shape) { s.annotations = map[string]string{"kubectl.kubernetes.io/restartedAt": "now"} }))
	if steps := kinds(w.run(5)); steps != "Patch 1, Patch 0" || w.uids() != before {
		t.Errorf("made the steps %s", steps)
	}
	w.expectDone()
}

func TestLabelsAndAnnotations(t *testing.T) {
	w := newWorld(t, 3, warm().with(func(s *shape) {
		s.labels, s.annotations = map[string]string{"team": "a", "old": "yes"}, map[string]string{"note": "1", "stale": "yes"}
	}))
	for slot := range 3 {
		w.pod(slot).Labels["foreign"], w.pod(slot).Annotations["foreign"] = "kept", "kept"
	}
	w.want(warm().with(func(s *shape) {
		s.labels, s.annotations = map[string]string{"team": "b"}, map[string]string{"note": "2"}
	}))
	step := w.next()
	expect(t, step, rollout.Patch, 2, "annotations (Live), labels (Live)")
	if step.Class != diff.Live {
		t.Errorf("the class is %s", step.Class)
	}
	if steps := kinds(w.run(10)); steps != "Patch 2, Patch 1, Patch 0" {
		t.Errorf("made the steps %s", steps)
	}
	w.expectDone()
	for slot := range 3 {
		pod := w.pod(slot)
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
	w := newWorld(t, 3, warm())
	before, items := w.uids(), w.machine(0).items
	w.want(warm().with(func(s *shape) { s.version = "1.6.45" }))
	step := w.next()
	expect(t, step, rollout.Patch, 2, "image 1.6.18 -> 1.6.45 (Warm)")
	if step.Class != diff.Warm {
		t.Errorf("the class is %s", step.Class)
	}
	steps := w.run(60)
	if got := kinds(steps); got != "Patch 2, Patch 2, Patch 1, Patch 1, Patch 0, Patch 0" {
		t.Errorf("made the steps %s", got)
	}
	expect(t, steps[1], rollout.Patch, 2, "found its items again")
	w.expectDone()
	if w.uids() != before || w.machine(0).items < items || w.machine(1).items < items || w.machine(2).items < items {
		t.Errorf("items or pods were lost: %s is %s", before, w.uids())
	}
}

func TestAColdChangeReplacesOnePodAfterAnother(t *testing.T) {
	w := newWorld(t, 3, normalised())
	w.want(normalised().with(func(s *shape) { s.connections = 2048 }))
	step := w.next()
	expect(t, step, rollout.Replace, 2, "cache-2 is replaced, and starts empty: arguments.maxConnections (Cold)")
	if step.Unready {
		t.Error("a budget is not asked, although the pod is ready")
	}
	w.make(step)
	expect(t, w.next(), rollout.Wait, -1, "cache-2 is not there yet")
	w.turn(func() bool { return true })
	expect(t, w.next(), rollout.Wait, -1, "cache-2 is not there yet")
	w.turn(func() bool { return true })
	expect(t, w.next(), rollout.Wait, 2, "cache-2 is not ready yet")
	w.settle(10)
	expect(t, w.next(), rollout.Replace, 1, "")
	if got := kinds(w.run(30)); got != "Replace 1, Replace 0" {
		t.Errorf("made the steps %s", got)
	}
	w.expectDone()
}

// With the class of a change goes its order: growing, the limit comes first; shrinking, the items do.
func TestLiveMemory(t *testing.T) {
	for _, test := range []struct {
		name     string
		from, to int64
		steps    string
	}{
		{"grow", 64, 256, "Patch 1, Resize 1, Patch 1, Patch 1, Patch 0, Resize 0, Patch 0, Patch 0"},
		{"shrink", 256, 64, "Patch 1, Resize 1, Patch 1, Patch 0, Resize 0, Patch 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, 2, normalised().with(func(s *shape) { s.memory = test.from }))
			before, items := w.uids(), w.machine(0).items
			w.want(normalised().with(func(s *shape) { s.memory = test.to }))
			expect(t, w.next(), rollout.Patch, 1, "cache-1 is changed in place: arguments.cacheMemory (Live), resources.limits.memory (Live), resources.requests.memory (Live)")
			var steps []rollout.Step
			for range 60 {
				steps = append(steps, w.run(1)...)
				for slot := range 2 {
					if m := w.machine(slot); m.allocated+32 > m.limit {
						t.Fatalf("%dMi for items in a pod with %dMi", m.allocated, m.limit)
					}
				}
			}
			if got := kinds(steps); got != test.steps {
				t.Errorf("made the steps %s", got)
			}
			w.expectDone()
			if w.uids() != before || w.machine(0).items < items {
				t.Error("items were lost")
			}
		})
	}
}

func TestWithoutResizeMemoryIsCold(t *testing.T) {
	w := newWorld(t, 2, normalised())
	w.resize = false
	w.want(normalised().with(func(s *shape) { s.memory = 256 }))
	expect(t, w.next(), rollout.Replace, 1, "resources.limits.memory (Cold)")
	w.run(30)
	w.expectDone()
}

func TestTheAgentAloneIsRestarted(t *testing.T) {
	w := newWorld(t, 2, normalised())
	before, process := w.uids(), w.machine(1).process
	w.want(normalised().with(func(s *shape) { s.agent = "agent:2" }))
	expect(t, w.next(), rollout.Patch, 1, "agentImage (Live)")
	if got := kinds(w.run(40)); got != "Patch 1, Patch 1, Patch 0, Patch 0" {
		t.Errorf("made the steps %s", got)
	}
	w.expectDone()
	if w.uids() != before || w.machine(1).process != process {
		t.Error("memcached was restarted")
	}
}

func TestAResizeThatIsRefusedStopsAndCanBeReverted(t *testing.T) {
	for _, reason := range []string{corev1.PodReasonInfeasible, corev1.PodReasonDeferred} {
		w := newWorld(t, 2, normalised())
		before := w.uids()
		w.machine(1).refuses = reason
		w.want(normalised().with(func(s *shape) { s.memory = 4096 }))
		if got := kinds(w.run(20)); got != "Patch 1, Resize 1" {
			t.Errorf("made the steps %s", got)
		}
		step := w.next()
		expect(t, step, rollout.Wait, 1, "cache-1 cannot be resized ("+reason+"): no room")
		if !step.Stuck {
			t.Error("it is not stuck")
		}
		w.want(normalised())
		w.run(20)
		w.expectDone()
		if w.uids() != before {
			t.Error("a pod was replaced")
		}
	}
}

func TestPodsThatAreNotWantedOrLeaveAreNotTouched(t *testing.T) {
	w := newWorld(t, 3, normalised())
	w.want(normalised().with(func(s *shape) { s.connections = 2048 }))
	w.set.Spec.Replicas = ptr.To[int32](2)
	expect(t, w.next(), rollout.Replace, 1, "")
	w.pod(2).DeletionTimestamp = &metav1.Time{Time: w.now}
	expect(t, w.next(), rollout.Replace, 1, "")

	w.pod(1).DeletionTimestamp = &metav1.Time{Time: w.now}
	expect(t, w.next(), rollout.Wait, -1, "cache-1 is not there yet")
	delete(w.pods, "cache-1")
	expect(t, w.next(), rollout.Wait, -1, "cache-1 is not there yet")
	w.pods["cache-x"] = w.pod(0).DeepCopy()
	w.pods["cache-x"].Name = "cache-x"
	expect(t, w.next(), rollout.Wait, -1, "cache-1 is not there yet")
}

func TestAPodOfAnUnknownRevision(t *testing.T) {
	w := newWorld(t, 2, warm())
	w.pod(0).Labels[appsv1.ControllerRevisionHashLabelKey] = "cache-lost"
	before := w.uids()
	step := w.next()
	expect(t, step, rollout.Wait, 0, `cache-0 cannot be compared with the template: its ControllerRevision "cache-lost" does not exist. Delete it`)
	if !step.Stuck {
		t.Error("it is not stuck")
	}
	w.run(30)
	if w.uids() != before {
		t.Error("a pod with items was replaced")
	}
	w.unready(0, time.Hour)
	expect(t, w.next(), rollout.Replace, 0, "serves nobody")
}

// What somebody does to a pod that is done is their affair; otherwise two would fight for ever.
func TestAPodThatIsDoneStaysAsItIs(t *testing.T) {
	w := newWorld(t, 2, warm())
	w.pod(0).Spec.Containers[0].Image = "mirror/memcached:1.6.18"
	w.pod(0).Labels["app"] = "other"
	expect(t, w.next(), rollout.None, -1, "")
}

func TestATemplateThatCannotBeRead(t *testing.T) {
	w := newWorld(t, 2, normalised())
	w.want(warm())
	w.set.Spec.Template.Spec.Containers[0].Args = []string{"-m"}
	if step, err := rollout.Next(w.situation()); err == nil ||
		err.Error() != "the pod template of StatefulSet default/cache: memcached's argument -m: it has no value" {
		t.Errorf("got %+v and %v", step, err)
	}
}

func TestProgress(t *testing.T) {
	w := newWorld(t, 3, warm())
	w.want(warm().with(func(s *shape) { s.version = "1.6.45" }))
	progress := func() string {
		step := w.next()
		return fmt.Sprintf("%+v", w.situation().Progress(step))
	}
	if got := progress(); got != "{Updated:0 Pod:cache-2 Why:cache-2 is changed in place: image 1.6.18 -> 1.6.45 (Warm) Stuck:false}" {
		t.Error(got)
	}
	w.run(1)
	if got := progress(); got != "{Updated:0 Pod:cache-2 Why:memcached in cache-2 restarts Stuck:false}" {
		t.Error(got)
	}
	w.run(60)
	if got := progress(); got != "{Updated:3 Pod: Why: Stuck:false}" {
		t.Error(got)
	}
}
