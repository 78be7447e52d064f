package rollout_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/operator/memcached/update/rollout"
)

// A rollout that fails stops at its first pod and continues when the spec is corrected. No items are lost.
func TestAnImageThatCannotStartStopsTheRollout(t *testing.T) {
	for name, next := range map[string]templateOptions{"the spec is reverted": withWarmRestart(), "the spec is corrected": upgraded} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 3, withWarmRestart())
			before, items := c.uids(), c.simulatedPod(0).items
			c.want(badImage)
			if got := summarise(c.run(8)); got != "Patch 2" { // Less than a minute.
				t.Errorf("made the steps %s", got)
			}
			step := c.next()
			expect(t, step, rollout.Wait, 2, `memcached in cache-2 is restarting: the image "memcached:bad" of container memcached cannot be pulled (ImagePullBackOff)`)
			expectStuck(t, step)
			if !isReady(c.pod(0)) || !isReady(c.pod(1)) {
				t.Error("other pods were changed")
			}
			c.want(next)
			expect(t, c.next(), rollout.Patch, 2, "image")
			c.run(60)
			c.expectDone()
			if c.uids() != before || c.simulatedPod(2).items < items || c.simulatedPod(0).items < items {
				t.Errorf("items were lost: %d and %d are left of %d", c.simulatedPod(2).items, c.simulatedPod(0).items, items)
			}
		})
	}
}

// What a pod gets at its next replacement anyway is no reason to replace a broken pod that may have items in its volume.
func TestABrokenPodIsUpdatedInPlaceDespiteAChangeForItsNextReplacement(t *testing.T) {
	c := newCluster(t, 3, withWarmRestart())
	items := c.simulatedPod(2).items
	c.want(badImage)
	c.run(60)
	corrected := upgraded.template()
	corrected.Spec.Containers[0].Image = "mirror/memcached:1.6.45" // Its version is unknown, so the change is cold.
	corrected.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "1"}}
	c.wantTemplate(corrected)
	expect(t, c.next(), rollout.Patch, 2, "image")
	c.run(60)
	c.expectDone()
	if got := c.simulatedPod(2).items; got < items {
		t.Errorf("%d are left of %d items", got, items)
	}
}

// Without a volume for the items there is nothing to keep, so the pod is replaced.
func TestAReplacedPodThatCannotStartStopsTheRollout(t *testing.T) {
	c := newCluster(t, 3, withoutWarmRestart())
	c.want(withoutWarmRestart().with(func(s *templateOptions) { s.version = "bad" }))
	if got := summarise(c.run(40)); got != "Replace 2" {
		t.Errorf("made the steps %s", got)
	}
	step := c.next()
	expect(t, step, rollout.Wait, 2, `cache-2 is not ready: the image "memcached:bad" of container memcached cannot be pulled`)
	expectStuck(t, step)
	c.want(withoutWarmRestart())
	step = c.next()
	expect(t, step, rollout.Replace, 2, "cache-2 serves no clients and is replaced: image")
	if !step.Unready {
		t.Error("a PodDisruptionBudget could prevent the repair of a broken pod")
	}
	if got := summarise(c.run(40)); got != "Replace 2" {
		t.Errorf("made the steps %s", got)
	}
	c.expectDone()
}

// When all pods are broken, each is replaced without waiting for the others.
func TestBrokenPodsDoNotWaitForEachOther(t *testing.T) {
	c := newCluster(t, 3, withoutWarmRestart())
	c.want(withoutWarmRestart().with(newVersion))
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

func TestPodsThatNeverStartedAreReplaced(t *testing.T) {
	c := newCluster(t, 3, withWarmRestart())
	delete(c.pods, "cache-0")
	c.want(badImage)
	c.settle(5)
	c.want(upgraded)
	expect(t, c.next(), rollout.Replace, 0, "serves no clients")
}

func TestOtherPodsHaveToBeReady(t *testing.T) {
	c := newCluster(t, 3, withWarmRestart())
	c.want(upgraded)
	for range 100 { // Until the first pod is up to date.
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

// The others may be all that serve clients.
func TestABrokenPodThatIsUpToDateStopsTheRollout(t *testing.T) {
	c := newCluster(t, 3, withoutWarmRestart())
	c.want(withoutWarmRestart().with(moreConnections))
	c.make(c.next())
	c.settle(3)
	c.simulatedPod(2).memcachedBroken = true
	c.settle(10)
	expect(t, c.next(), rollout.Wait, 2, "cache-2 is not ready yet")
	c.settle(120)
	step := c.next()
	expect(t, step, rollout.Wait, 2, "cache-2 has not been ready for more than ten minutes")
	expectStuck(t, step)
	c.pod(2).Status.Conditions = append(c.pod(2).Status.Conditions, corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes are available"})
	expect(t, c.next(), rollout.Wait, 2, "cache-2 is not ready: it cannot be scheduled: 0/3 nodes are available")
}

// An overloaded pod that is unready for a moment must not count as broken.
func TestAPodThatIsUnreadyForAMomentIsNotReplaced(t *testing.T) {
	c := newCluster(t, 2, withoutWarmRestart())
	c.want(withoutWarmRestart().with(moreConnections))
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
	silence(c)
	expectStuck(t, c.next())
	// A new agent may repair it.
	c.want(withWarmRestart().with(newAgent))
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

// loseItems makes steps in which the first pod restarts and starts empty.
func loseItems(c *cluster) {
	for range 20 {
		c.run(1)
		c.simulatedPod(2).saved = 0
	}
}

func TestLostItemsStopTheRollout(t *testing.T) {
	c := newCluster(t, 3, withWarmRestart())
	before := c.uids()
	c.want(upgraded)
	loseItems(c)
	step := c.next()
	expect(t, step, rollout.Wait, 2, "memcached in cache-2 started empty, although it should have kept its")
	if !step.Stuck || !strings.Contains(step.Message, "kubectl annotate pod cache-2 cache.example.com/update-") {
		t.Errorf("the message does not say how to continue: %+v", step)
	}
	if c.simulatedPod(1).images["memcached"] != "memcached:1.6.18" {
		t.Error("the next pod was changed")
	}
	delete(c.pod(2).Annotations, rollout.UpdateAnnotation)
	c.run(60)
	c.expectDone()
	if c.uids() != before {
		t.Error("a pod was replaced")
	}
}

func TestLostItemsDoNotStopANewSpec(t *testing.T) {
	c := newCluster(t, 3, withWarmRestart())
	c.want(upgraded)
	loseItems(c)
	c.want(withWarmRestart().with(func(s *templateOptions) { s.version = "1.6.38" }))
	c.run(60)
	c.expectDone()
}

// No pod follows the last one, so nothing stops, but the message says that items were lost.
func TestItemsThatTheLastPodLosesAreReported(t *testing.T) {
	c := newCluster(t, 1, withWarmRestart())
	c.want(upgraded)
	var message string
	for range 20 {
		for _, step := range c.run(1) {
			message = step.Message
		}
		c.simulatedPod(0).saved = 0
	}
	if !strings.HasPrefix(message, "memcached in cache-0 started empty, although it should have kept its") {
		t.Errorf("the message is: %s", message)
	}
	c.expectDone()
}

// An empty pod cannot lose items, although it looks like a cold start.
func TestARestartOfAnEmptyCacheIsNoLoss(t *testing.T) {
	c := newCluster(t, 3, withWarmRestart())
	c.want(upgraded)
	for range 60 {
		for ordinal := range 3 {
			c.simulatedPod(ordinal).items, c.simulatedPod(ordinal).saved = 2, 0 // They belong to the agent, and expire.
		}
		c.run(1)
	}
	c.expectDone()
}

func TestTheHitRatioGate(t *testing.T) {
	c := newCluster(t, 3, withoutWarmRestart())
	c.gate = &rollout.Gate{RecoveredPercent: 90, Timeout: 10 * time.Minute}
	c.want(withoutWarmRestart().with(moreConnections))
	expect(t, c.next(), rollout.Replace, 2, "")
	c.make(c.next())
	c.settle(10)
	for name, test := range map[string]struct {
		replaced, second, first *float64
		passed                  time.Duration
		replaces                bool
	}{
		"the pods not replaced yet get no requests": {nil, nil, nil, 0, true},
		"not recovered":                     {ptr.To(0.71), ptr.To(0.7), ptr.To(0.9), 0, false},
		"recovered":                         {ptr.To(0.73), ptr.To(0.7), ptr.To(0.9), 0, true},
		"the replaced pod gets no requests": {nil, ptr.To(0.9), nil, 0, false},
		"the timeout is over":               {ptr.To(0.1), ptr.To(0.9), ptr.To(0.9), 10 * time.Minute, true},
		"one of the pods not replaced yet gets no requests": {ptr.To(0.5), nil, ptr.To(0.5), 0, true},
	} {
		c.simulatedPod(2).hitRatio, c.simulatedPod(1).hitRatio, c.simulatedPod(0).hitRatio = test.replaced, test.second, test.first
		now := c.now
		c.now = now.Add(test.passed)
		step := c.next()
		c.now = now
		if replaces := step.Kind == rollout.Replace; replaces != test.replaces {
			t.Errorf("%s: the step is %s: %s", name, step.Kind, step.Message)
		}
		if step.Kind == rollout.Wait && step.Message != "cache-1 is replaced when the hit ratio of cache-2 is 90 % of that of the "+
			"pods not replaced yet, or when cache-2 has been ready for 10m0s" {
			t.Error(step.Message)
		}
	}
}

// A pod that keeps its items does not have to fill up again.
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

// The cause of a failed start is the image only if the kubelet says so.
func TestTheCauseOfAFailedStart(t *testing.T) {
	for reason, want := range map[string]string{
		"ImagePullBackOff":     `the image "memcached:1.6.18" of container memcached cannot be pulled (ImagePullBackOff)`,
		"CreateContainerError": `with image "memcached:1.6.18", container memcached cannot be created (CreateContainerError)`,
		"CrashLoopBackOff":     `with image "memcached:1.6.18", container memcached keeps exiting (CrashLoopBackOff)`,
		"PodInitializing":      "cache-1 is not ready yet",
	} {
		c := newCluster(t, 2, withoutWarmRestart())
		c.want(withoutWarmRestart().with(newAgent))
		c.pod(1).Labels["controller-revision-hash"] = c.set.Status.UpdateRevision
		c.unready(1, time.Second)
		statusOf(c.pod(1), "memcached").State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
		expect(t, c.next(), rollout.Wait, 1, want)
	}
}

// The kubelet waits before it starts a container again that has exited several times, also if that has another image by then.
func TestAContainerThatHasNotBeenStartedWithItsNewImageIsNotBlamed(t *testing.T) {
	c := newCluster(t, 2, withWarmRestart())
	c.want(upgraded)
	for c.pod(1).Spec.Containers[0].Image != "memcached:1.6.45" {
		c.run(1)
	}
	status := statusOf(c.pod(1), "memcached")
	status.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	expect(t, c.next(), rollout.Wait, 1, `container memcached has not been started with image "memcached:1.6.45" yet (CrashLoopBackOff)`)
	status.ContainerID = "another"
	expect(t, c.next(), rollout.Wait, 1, `with image "memcached:1.6.45", container memcached keeps exiting (CrashLoopBackOff)`)
}
