package rollout_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/operator/memcached/update/rollout"
)

var (
	upgraded = warm().with(func(s *shape) { s.version = "1.6.45" })
	mistaken = warm().with(func(s *shape) { s.version = "bad" })
)

// A rollout that does not work stops at its first pod, and goes on when it is mended. The items outlive both.
func TestAnImageThatCannotStartStops(t *testing.T) {
	for name, mend := range map[string]shape{"reverted": warm(), "mended": upgraded} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 3, warm())
			before, items := w.uids(), w.machine(0).items
			w.want(mistaken)
			if got := kinds(w.run(8)); got != "Patch 2" { // Less than a minute.
				t.Errorf("made the steps %s", got)
			}
			step := w.next()
			expect(t, step, rollout.Wait, 2, `memcached in cache-2 restarts: the image "memcached:bad" of container memcached cannot be pulled (ImagePullBackOff)`)
			if !step.Stuck {
				t.Error("it is not stuck")
			}
			if !isReady(w.pod(0)) || !isReady(w.pod(1)) {
				t.Error("other pods were touched")
			}
			w.want(mend)
			expect(t, w.next(), rollout.Patch, 2, "image")
			w.run(60)
			w.expectDone()
			if w.uids() != before || w.machine(2).items < items || w.machine(0).items < items {
				t.Errorf("items were lost: %d and %d are left of %d", w.machine(2).items, w.machine(0).items, items)
			}
		})
	}
}

// Without a volume for the items there is nothing to keep, and the pod is made anew.
func TestAReplacedPodThatCannotStartStops(t *testing.T) {
	w := newWorld(t, 3, normalised())
	w.want(normalised().with(func(s *shape) { s.version = "bad" }))
	if got := kinds(w.run(40)); got != "Replace 2" {
		t.Errorf("made the steps %s", got)
	}
	step := w.next()
	expect(t, step, rollout.Wait, 2, `cache-2 is not ready: the image "memcached:bad" of container memcached cannot be pulled`)
	if !step.Stuck {
		t.Error("it is not stuck")
	}
	w.want(normalised())
	step = w.next()
	expect(t, step, rollout.Replace, 2, "cache-2 serves nobody, and is replaced: image")
	if !step.Unready {
		t.Error("a budget could keep a broken pod from being mended")
	}
	if got := kinds(w.run(40)); got != "Replace 2" {
		t.Errorf("made the steps %s", got)
	}
	w.expectDone()
}

// All nodes are broken at once: each is mended without waiting for the others.
func TestBrokenPodsAreMendedOneByOne(t *testing.T) {
	w := newWorld(t, 3, normalised())
	w.want(normalised().with(func(s *shape) { s.version = "1.6.45" }))
	for slot := range 3 {
		w.unready(slot, 2*time.Minute)
	}
	for _, slot := range []int{2, 1, 0} {
		step := w.next()
		expect(t, step, rollout.Replace, slot, "serves nobody")
		w.make(step)
	}
	w.run(40)
	w.expectDone()
}

func TestPodsThatNeverStartedAreMadeAnew(t *testing.T) {
	w := newWorld(t, 3, warm())
	delete(w.pods, "cache-0")
	w.want(mistaken)
	w.settle(5)
	w.want(upgraded)
	expect(t, w.next(), rollout.Replace, 0, "serves nobody")
}

func TestOthersThatAreNotReadyAreWaitedFor(t *testing.T) {
	w := newWorld(t, 3, warm())
	w.want(upgraded)
	for range 100 { // Until the first pod is done.
		w.run(1)
		if w.pod(2).Labels["controller-revision-hash"] == w.set.Status.UpdateRevision {
			break
		}
	}
	for _, slot := range []int{2, 1, 0} {
		w.unready(slot, 30*time.Second)
		step := w.next()
		expect(t, step, rollout.Wait, slot, "is not ready yet")
		if step.Stuck {
			t.Errorf("it is stuck: %s", step.Message)
		}
		setReady(w.pod(slot), true, w.now)
	}
	expect(t, w.next(), rollout.Patch, 1, "image")
}

// A pod of the template that is broken keeps the others from being touched: they may be all that is left.
func TestABrokenPodOfTheTemplateStops(t *testing.T) {
	w := newWorld(t, 3, normalised())
	w.want(normalised().with(func(s *shape) { s.connections = 2048 }))
	w.make(w.next())
	w.settle(3)
	w.machine(2).sick = true
	w.settle(10)
	expect(t, w.next(), rollout.Wait, 2, "cache-2 is not ready yet")
	w.settle(120)
	step := w.next()
	expect(t, step, rollout.Wait, 2, "cache-2 has not been ready for more than ten minutes")
	if !step.Stuck {
		t.Error("it is not stuck")
	}
	w.pod(2).Status.Conditions = append(w.pod(2).Status.Conditions, corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes are available"})
	expect(t, w.next(), rollout.Wait, 2, "cache-2 is not ready: no machine has room for it: 0/3 nodes are available")
}

// An overloaded pod that is not ready for a moment must not be taken for one that serves nobody.
func TestAPodThatIsNotReadyForAMomentIsNotReplaced(t *testing.T) {
	w := newWorld(t, 2, normalised())
	w.want(normalised().with(func(s *shape) { s.connections = 2048 }))
	w.unready(0, 59*time.Second)
	expect(t, w.next(), rollout.Wait, 0, "cache-0 is not ready yet")
	w.unready(0, 60*time.Second)
	w.now = w.now.Add(2 * time.Second)
	expect(t, w.next(), rollout.Replace, 0, "serves nobody")
}

func TestAnAgentThatCannotBeReached(t *testing.T) {
	w := newWorld(t, 2, warm())
	w.machine(1).mute = true
	w.want(upgraded)
	step := w.next()
	expect(t, step, rollout.Wait, 1, "cache-1 is not restarted, because its agent cannot be reached")
	if !step.Stuck {
		t.Error("it is not stuck")
	}
	// A change of the agent itself may be what mends it.
	w.want(warm().with(func(s *shape) { s.agent = "agent:2" }))
	expect(t, w.next(), rollout.Patch, 1, "agentImage")

	w = newWorld(t, 2, normalised())
	w.machine(1).mute = true
	w.want(normalised().with(func(s *shape) { s.memory = 128 }))
	w.run(20)
	expect(t, w.next(), rollout.Wait, 1, "the agent of cache-1 cannot be reached to tell how much memory memcached takes")
	w.now = w.now.Add(time.Hour)
	if step := w.next(); !step.Stuck || !strings.HasSuffix(step.Message, ", for more than ten minutes") {
		t.Errorf("it is not stuck after an hour: %+v", step)
	}
	w.machine(1).mute = false
	w.run(60)
	w.expectDone()
}

// loseItems lets the pod that is restarted by the next steps start empty.
func loseItems(w *world) {
	for range 20 {
		w.run(1)
		w.machine(2).saved = 0
	}
}

func TestItemsThatAreLostStopTheRollout(t *testing.T) {
	w := newWorld(t, 3, warm())
	before := w.uids()
	w.want(upgraded)
	loseItems(w)
	step := w.next()
	expect(t, step, rollout.Wait, 2, "memcached in cache-2 started empty, although it should have kept its")
	if !step.Stuck || !strings.Contains(step.Message, "kubectl annotate pod cache-2 cache.example.com/update-") {
		t.Errorf("nobody would know how to go on: %+v", step)
	}
	if w.machine(1).images["memcached"] != "memcached:1.6.18" {
		t.Error("the next pod was touched")
	}
	delete(w.pod(2).Annotations, rollout.UpdateAnnotation)
	w.run(60)
	w.expectDone()
	if w.uids() != before {
		t.Error("a pod was replaced")
	}
}

func TestItemsThatAreLostDoNotStopARevert(t *testing.T) {
	w := newWorld(t, 3, warm())
	w.want(upgraded)
	loseItems(w)
	w.want(warm().with(func(s *shape) { s.version = "1.6.38" }))
	w.run(60)
	w.expectDone()
}

// The last pod holds up nobody, but it is told.
func TestItemsThatTheLastPodLosesAreTold(t *testing.T) {
	w := newWorld(t, 1, warm())
	w.want(upgraded)
	var told string
	for range 20 {
		for _, step := range w.run(1) {
			told = step.Message
		}
		w.machine(0).saved = 0
	}
	if !strings.HasPrefix(told, "memcached in cache-0 started empty, although it should have kept its") {
		t.Errorf("told was: %s", told)
	}
	w.expectDone()
}

// A pod that held nothing cannot have lost anything, though it looks as if it started cold.
func TestARestartOfAnEmptyCacheIsNoLoss(t *testing.T) {
	w := newWorld(t, 3, warm())
	w.want(upgraded)
	for range 60 {
		for slot := range 3 {
			w.machine(slot).items, w.machine(slot).saved = 2, 0 // The agent's own, which expire.
		}
		w.run(1)
	}
	w.expectDone()
}

func TestTheHitRatioGate(t *testing.T) {
	w := newWorld(t, 3, normalised())
	w.gate = &rollout.Gate{RecoveredPercent: 90, Timeout: 10 * time.Minute}
	w.want(normalised().with(func(s *shape) { s.connections = 2048 }))
	expect(t, w.next(), rollout.Replace, 2, "")
	w.make(w.next())
	w.settle(10)
	for name, test := range map[string]struct {
		replaced, second, first *float64
		passed                  time.Duration
		follows                 bool
	}{
		"nobody asks the ones to follow": {nil, nil, nil, 0, true},
		"not recovered":                  {ptr.To(0.71), ptr.To(0.7), ptr.To(0.9), 0, false},
		"recovered":                      {ptr.To(0.73), ptr.To(0.7), ptr.To(0.9), 0, true},
		"nobody asks the one that was":   {nil, ptr.To(0.9), nil, 0, false},
		"too late":                       {ptr.To(0.1), ptr.To(0.9), ptr.To(0.9), 10 * time.Minute, true},
		"only one is asked":              {ptr.To(0.5), nil, ptr.To(0.5), 0, true},
	} {
		w.machine(2).hitRatio, w.machine(1).hitRatio, w.machine(0).hitRatio = test.replaced, test.second, test.first
		now := w.now
		w.now = now.Add(test.passed)
		step := w.next()
		w.now = now
		if follows := step.Kind == rollout.Replace; follows != test.follows {
			t.Errorf("%s: the step is %s: %s", name, step.Kind, step.Message)
		}
		if step.Kind == rollout.Wait && step.Message != "cache-1 follows when the hit ratio of cache-2 is 90 % of that of the "+
			"nodes to follow, or when it has been ready for 10m0s" {
			t.Error(step.Message)
		}
	}
}

// What keeps the items does not have to recover.
func TestTheGateIsForReplacedPodsOnly(t *testing.T) {
	w := newWorld(t, 3, warm())
	w.gate = &rollout.Gate{RecoveredPercent: 100, Timeout: 24 * time.Hour}
	for slot := range 3 {
		w.machine(slot).hitRatio = ptr.To(float64(slot) / 10)
	}
	w.want(upgraded)
	w.run(60)
	w.expectDone()
}
