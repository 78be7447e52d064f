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
	upgraded = withWarmRestart().with(func(s *templateOptions) { s.version = "1.6.45" })
	badImage = withWarmRestart().with(func(s *templateOptions) { s.version = "bad" })
)

// A rollout that does not work stops at its first pod, and goes on when it is mended. The items outlive both.
func TestAnImageThatCannotStartStops(t *testing.T) {
	for name, mend := range map[string]templateOptions{"reverted": withWarmRestart(), "mended": upgraded} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 3, withWarmRestart())
			before, items := c.uids(), c.simulatedPod(0).items
			c.want(badImage)
			if got := summarise(c.run(8)); got != "Patch 2" { // Less than a minute.
				t.Errorf("made the steps %s", got)
			}
			step := c.next()
			expect(t, step, rollout.Wait, 2, `memcached in cache-2 is restarting: the image "memcached:bad" of container memcached cannot be pulled (ImagePullBackOff)`)
			if !step.Stuck {
				t.Error("it is not stuck")
			}
			if !isReady(c.pod(0)) || !isReady(c.pod(1)) {
				t.Error("other pods were touched")
			}
			c.want(mend)
			expect(t, c.next(), rollout.Patch, 2, "image")
			c.run(60)
			c.expectDone()
			if c.uids() != before || c.simulatedPod(2).items < items || c.simulatedPod(0).items < items {
				t.Errorf("items were lost: %d and %d are left of %d", c.simulatedPod(2).items, c.simulatedPod(0).items, items)
			}
		})
	}
}

// Without a volume for the items there is nothing to keep, and the pod is made anew.
func TestAReplacedPodThatCannotStartStops(t *testing.T) {
	c := newCluster(t, 3, withoutWarmRestart())
	c.want(withoutWarmRestart().with(func(s *templateOptions) { s.version = "bad" }))
	if got := summarise(c.run(40)); got != "Replace 2" {
		t.Errorf("made the steps %s", got)
	}
	step := c.next()
	expect(t, step, rollout.Wait, 2, `cache-2 is not ready: the image "memcached:bad" of container memcached cannot be pulled`)
	if !step.Stuck {
		t.Error("it is not stuck")
	}
	c.want(withoutWarmRestart())
	step = c.next()
	expect(t, step, rollout.Replace, 2, "cache-2 serves no clients and is replaced: image")
	if !step.Unready {
		t.Error("a budget could keep a broken pod from being mended")
	}
	if got := summarise(c.run(40)); got != "Replace 2" {
		t.Errorf("made the steps %s", got)
	}
	c.expectDone()
}

// All nodes are broken at once: each is mended without waiting for the others.
func TestBrokenPodsAreMendedOneByOne(t *testing.T) {
	c := newCluster(t, 3, withoutWarmRestart())
	c.want(withoutWarmRestart().with(func(s *templateOptions) { s.version = "1.6.45" }))
	for ordinal := range 3 {
		c.unready(ordinal, 2*time.Minute)
	}
	for _, ordinal := range []int{2, 1, 0} {
		step := c.next()
		expect(t, step, rollout.Replace, ordinal, "serves no clients")
		c.make(step)
	}
	c.run(40)
	c.expectDone()
}

func TestPodsThatNeverStartedAreMadeAnew(t *testing.T) {
	c := newCluster(t, 3, withWarmRestart())
	delete(c.pods, "cache-0")
	c.want(badImage)
	c.settle(5)
	c.want(upgraded)
	expect(t, c.next(), rollout.Replace, 0, "serves no clients")
}

func TestOthersThatAreNotReadyAreWaitedFor(t *testing.T) {
	c := newCluster(t, 3, withWarmRestart())
	c.want(upgraded)
	for range 100 { // Until the first pod is done.
		c.run(1)
		if c.pod(2).Labels["controller-revision-hash"] == c.set.Status.UpdateRevision {
			break
		}
	}
	for _, ordinal := range []int{2, 1, 0} {
		c.unready(ordinal, 30*time.Second)
		step := c.next()
		expect(t, step, rollout.Wait, ordinal, "is not ready yet")
		if step.Stuck {
			t.Errorf("it is stuck: %s", step.Message)
		}
		setReady(c.pod(ordinal), true, c.now)
	}
	expect(t, c.next(), rollout.Patch, 1, "image")
}

// A pod of the template that is broken keeps the others from being touched: they may be all that is left.
func TestABrokenPodOfTheTemplateStops(t *testing.T) {
	c := newCluster(t, 3, withoutWarmRestart())
	c.want(withoutWarmRestart().with(func(s *templateOptions) { s.connections = 2048 }))
	c.make(c.next())
	c.settle(3)
	c.simulatedPod(2).memcachedBroken = true
	c.settle(10)
	expect(t, c.next(), rollout.Wait, 2, "cache-2 is not ready yet")
	c.settle(120)
	step := c.next()
	expect(t, step, rollout.Wait, 2, "cache-2 has not been ready for more than ten minutes")
	if !step.Stuck {
		t.Error("it is not stuck")
	}
	c.pod(2).Status.Conditions = append(c.pod(2).Status.Conditions, corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes are available"})
	expect(t, c.next(), rollout.Wait, 2, "cache-2 is not ready: no node has room for it: 0/3 nodes are available")
}

// An overloaded pod that is not ready for a moment must not be taken for one that serves no clients.
func TestAPodThatIsNotReadyForAMomentIsNotReplaced(t *testing.T) {
	c := newCluster(t, 2, withoutWarmRestart())
	c.want(withoutWarmRestart().with(func(s *templateOptions) { s.connections = 2048 }))
	c.unready(0, 59*time.Second)
	expect(t, c.next(), rollout.Wait, 0, "cache-0 is not ready yet")
	c.unready(0, 60*time.Second)
	c.now = c.now.Add(2 * time.Second)
	expect(t, c.next(), rollout.Replace, 0, "serves no clients")
}

func TestAnAgentThatCannotBeReached(t *testing.T) {
	c := newCluster(t, 2, withWarmRestart())
	c.simulatedPod(1).agentUnreachable = true
	c.want(upgraded)
	step := c.next()
	expect(t, step, rollout.Wait, 1, "cache-1 is not restarted, because its agent cannot be reached")
	if !step.Stuck {
		t.Error("it is not stuck")
	}
	// A change of the agent itself may be what mends it.
	c.want(withWarmRestart().with(func(s *templateOptions) { s.agent = "agent:2" }))
	expect(t, c.next(), rollout.Patch, 1, "agentImage")

	c = newCluster(t, 2, withoutWarmRestart())
	c.simulatedPod(1).agentUnreachable = true
	c.want(withoutWarmRestart().with(func(s *templateOptions) { s.memory = 128 }))
	c.run(20)
	expect(t, c.next(), rollout.Wait, 1, "the agent of cache-1 cannot be reached to report how much memory memcached uses")
	c.now = c.now.Add(time.Hour)
	if step := c.next(); !step.Stuck || !strings.HasSuffix(step.Message, ", for more than ten minutes") {
		t.Errorf("it is not stuck after an hour: %+v", step)
	}
	c.simulatedPod(1).agentUnreachable = false
	c.run(60)
	c.expectDone()
}

// loseItems lets the pod that is restarted by the next steps start empty.
func loseItems(c *cluster) {
	for range 20 {
		c.run(1)
		c.simulatedPod(2).saved = 0
	}
}

func TestItemsThatAreLostStopTheRollout(t *testing.T) {
	c := newCluster(t, 3, withWarmRestart())
	before := c.uids()
	c.want(upgraded)
	loseItems(c)
	step := c.next()
	expect(t, step, rollout.Wait, 2, "memcached in cache-2 started empty, although it should have kept its")
	if !step.Stuck || !strings.Contains(step.Message, "kubectl annotate pod cache-2 cache.example.com/update-") {
		t.Errorf("nobody would know how to go on: %+v", step)
	}
	if c.simulatedPod(1).images["memcached"] != "memcached:1.6.18" {
		t.Error("the next pod was touched")
	}
	delete(c.pod(2).Annotations, rollout.UpdateAnnotation)
	c.run(60)
	c.expectDone()
	if c.uids() != before {
		t.Error("a pod was replaced")
	}
}

func TestItemsThatAreLostDoNotStopARevert(t *testing.T) {
	c := newCluster(t, 3, withWarmRestart())
	c.want(upgraded)
	loseItems(c)
	c.want(withWarmRestart().with(func(s *templateOptions) { s.version = "1.6.38" }))
	c.run(60)
	c.expectDone()
}

// The last pod holds up nobody, but it is told.
func TestItemsThatTheLastPodLosesAreTold(t *testing.T) {
	c := newCluster(t, 1, withWarmRestart())
	c.want(upgraded)
	var told string
	for range 20 {
		for _, step := range c.run(1) {
			told = step.Message
		}
		c.simulatedPod(0).saved = 0
	}
	if !strings.HasPrefix(told, "memcached in cache-0 started empty, although it should have kept its") {
		t.Errorf("told was: %s", told)
	}
	c.expectDone()
}

// A pod that held nothing cannot have lost anything, though it looks as if it started cold.
func TestARestartOfAnEmptyCacheIsNoLoss(t *testing.T) {
	c := newCluster(t, 3, withWarmRestart())
	c.want(upgraded)
	for range 60 {
		for ordinal := range 3 {
			c.simulatedPod(ordinal).items, c.simulatedPod(ordinal).saved = 2, 0 // The agent's own, which expire.
		}
		c.run(1)
	}
	c.expectDone()
}

func TestTheHitRatioGate(t *testing.T) {
	c := newCluster(t, 3, withoutWarmRestart())
	c.gate = &rollout.Gate{RecoveredPercent: 90, Timeout: 10 * time.Minute}
	c.want(withoutWarmRestart().with(func(s *templateOptions) { s.connections = 2048 }))
	expect(t, c.next(), rollout.Replace, 2, "")
	c.make(c.next())
	c.settle(10)
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
		c.simulatedPod(2).hitRatio, c.simulatedPod(1).hitRatio, c.simulatedPod(0).hitRatio = test.replaced, test.second, test.first
		now := c.now
		c.now = now.Add(test.passed)
		step := c.next()
		c.now = now
		if follows := step.Kind == rollout.Replace; follows != test.follows {
			t.Errorf("%s: the step is %s: %s", name, step.Kind, step.Message)
		}
		if step.Kind == rollout.Wait && step.Message != "cache-1 is replaced when the hit ratio of cache-2 is 90 % of that of the "+
			"pods not replaced yet, or when cache-2 has been ready for 10m0s" {
			t.Error(step.Message)
		}
	}
}

// What keeps the items does not have to recover.
func TestTheGateIsForReplacedPodsOnly(t *testing.T) {
	c := newCluster(t, 3, withWarmRestart())
	c.gate = &rollout.Gate{RecoveredPercent: 100, Timeout: 24 * time.Hour}
	for ordinal := range 3 {
		c.simulatedPod(ordinal).hitRatio = ptr.To(float64(ordinal) / 10)
	}
	c.want(upgraded)
	c.run(60)
	c.expectDone()
}
