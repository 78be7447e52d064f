package rollout_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/kube/pods"
	"github.com/example/memcached-operator/operator/memcached/update/rollout"
)

func TestTheGateAtItsEnds(t *testing.T) {
	c := newCluster(t, 2, withoutWarmRestart())
	c.gate = &rollout.Gate{RecoveredPercent: 100, Timeout: 10 * time.Minute}
	c.want(withoutWarmRestart().with(moreConnections))
	c.make(c.next())
	c.settle(10)
	ready := pods.ReadinessSince(c.pod(1))
	for name, test := range map[string]struct {
		replaced float64
		passed   time.Duration
		want     rollout.Kind
	}{
		"the hit ratio is reached": {0.5, time.Minute, rollout.Replace},
		"it is nearly reached":     {0.499, time.Minute, rollout.Wait},
		"a second before the end":  {0.1, 10*time.Minute - time.Second, rollout.Wait},
		"the time is over":         {0.1, 10 * time.Minute, rollout.Replace},
	} {
		c.simulatedPod(1).hitRatio, c.simulatedPod(0).hitRatio, c.now = ptr.To(test.replaced), ptr.To(0.5), ready.Add(test.passed)
		if step := c.next(); step.Kind != test.want {
			t.Errorf("%s: the step is %s: %s", name, step.Kind, step.Message)
		}
	}
}

func TestAWaitIsStuckAfterTenMinutes(t *testing.T) {
	for passed, stuck := range map[time.Duration]bool{10*time.Minute - time.Second: false, 10 * time.Minute: true} {
		c := newCluster(t, 2, withWarmRestart())
		c.want(upgraded)
		c.make(c.next())
		c.now = c.now.Add(passed)
		step := c.next()
		expect(t, step, rollout.Wait, 1, "memcached in cache-1 is restarting")
		if step.Stuck != stuck {
			t.Errorf("%s after the change of a pod, stuck is %t", passed, step.Stuck)
		}

		c = newCluster(t, 2, withWarmRestart())
		c.want(upgraded)
		statusOf(c.pod(0), "memcached").Ready = false
		statusOf(c.pod(0), "memcached").State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
		setReady(c.pod(0), false, c.now)
		c.now = c.now.Add(passed)
		c.pod(0).Labels["controller-revision-hash"] = c.set.Status.UpdateRevision
		step = c.next()
		expect(t, step, rollout.Wait, 0, "cache-0 ")
		if step.Stuck != stuck {
			t.Errorf("%s after a pod became unready, stuck is %t: %s", passed, step.Stuck, step.Message)
		}
	}
}

func TestTheFirstPodAndTheOthersThatAreMissing(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*cluster)
		message string
	}{
		"the first pod": {func(c *cluster) { delete(c.pods, "cache-0") }, "cache-0 does not exist yet"},
		"a pod that has failed": {func(c *cluster) {
			c.pod(1).Status.Phase = corev1.PodFailed
		}, "cache-1 does not exist yet"},
		"a pod beside another that ends for long": {func(c *cluster) {
			c.set.Spec.Replicas = ptr.To[int32](2)
			c.pod(2).DeletionTimestamp = ptr.To(pods.Condition(c.pod(2), corev1.PodReady).LastTransitionTime)
			delete(c.pods, "cache-1")
		}, "cache-1 does not exist yet"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 3, withWarmRestart())
			test.change(c)
			c.now = c.now.Add(time.Hour)
			step := c.next()
			expect(t, step, rollout.Wait, -1, test.message)
			if step.Stuck {
				t.Errorf("the step is %+v", step)
			}
		})
	}
}

// The user sees the first five changes of a pod.
func TestALongMessageIsCut(t *testing.T) {
	four := func(s *templateOptions) {
		newVersion(s)
		newAgent(s)
		moreConnections(s)
		s.labels = map[string]string{"team": "b"}
	}
	five := withWarmRestart().with(four)
	five.annotations = map[string]string{"note": "2"}
	six := withWarmRestart().with(four)
	six.spare *= 2
	for end, want := range map[string]templateOptions{
		"starts empty: agentImage (Live), annotations (Live), arguments.maxConnections (Cold), image 1.6.18 -> 1.6.45 (Warm), labels (Live)":                         five,
		"starts empty: agentImage (Live), arguments.maxConnections (Cold), image 1.6.18 -> 1.6.45 (Warm), labels (Live), resources.limits.memory (Live), and 1 more": six,
	} {
		c := newCluster(t, 1, withWarmRestart())
		c.want(want)
		if step := c.next(); !strings.HasSuffix(step.Message, end) {
			t.Errorf("the message is: %s", step.Message)
		}
	}
}

func TestAProblemThatTheAgentReports(t *testing.T) {
	c := newCluster(t, 1, withoutWarmRestart().with(moreMemory))
	c.want(withoutWarmRestart())
	c.make(c.next())
	step := c.next()
	expect(t, step, rollout.Wait, 0, "memcached in cache-0 does not use 64Mi for items yet")
	if step.Stuck || strings.Contains(step.Message, "reports") {
		t.Errorf("without a problem, the step is %+v", step)
	}
	c.simulatedPod(0).problem = "memcached refuses it"
	step = c.next()
	expect(t, step, rollout.Wait, 0, "memcached in cache-0 does not use 64Mi for items yet; its agent reports: memcached refuses it")
	expectStuck(t, step)
}

// Some kubelets do not report which resources a container has.
func TestMemoryShrinksWhereTheKubeletDoesNotReportResources(t *testing.T) {
	c := newCluster(t, 1, withoutWarmRestart().with(moreMemory))
	c.want(withoutWarmRestart())
	var steps []rollout.Step
	for range 30 {
		statusOf(c.pod(0), "memcached").Resources = nil
		steps = append(steps, c.run(1)...)
		if m := c.simulatedPod(0); m.allocated+32 > m.limit {
			t.Fatalf("%dMi for items in a pod with %dMi", m.allocated, m.limit)
		}
	}
	if got := summarise(steps); got != "Patch 0, Resize 0, Patch 0" {
		t.Errorf("made the steps %s", got)
	}
	c.expectDone()
}

// The annotation of the pod says how much memory memcached has where the update state does not say who gave it.
func TestMemoryIsRevertedWithoutAnUpdateState(t *testing.T) {
	c := newCluster(t, 1, withoutWarmRestart())
	c.want(withoutWarmRestart().with(moreMemory))
	for range 20 {
		if c.pod(0).Annotations[agentapi.CacheMemoryAnnotation] == "256" {
			break
		}
		c.run(1)
	}
	c.settle(5)
	c.pod(0).Annotations[rollout.UpdateAnnotation] = "yes"
	c.want(withoutWarmRestart())
	c.run(60)
	c.expectDone()
}

func TestAPodThatNeverStartedIsReplacedForAnyChange(t *testing.T) {
	c := newCluster(t, 3, withWarmRestart())
	delete(c.pods, "cache-0")
	c.want(badImage)
	c.settle(5)
	c.want(badImage.with(newAgent))
	expect(t, c.next(), rollout.Replace, 0, "agentImage (Live)")
}

func TestAPodThatIsBeingUpdatedComesBeforeADegradedOne(t *testing.T) {
	c := newCluster(t, 3, withWarmRestart())
	c.want(upgraded)
	c.make(c.next())
	c.degrade(0, time.Hour)
	c.want(upgraded.with(newAgent))
	expect(t, c.next(), rollout.Wait, 2, "has not restarted yet")
}

func TestLostItemsStopTheLastPodButOne(t *testing.T) {
	c := newCluster(t, 2, withWarmRestart())
	c.want(upgraded)
	for range 10 {
		c.simulatedPod(1).items, c.simulatedPod(1).saved = 3, 0
		c.run(1)
	}
	step := c.next()
	expect(t, step, rollout.Wait, 1, "memcached in cache-1 started empty, although it should have kept its 3 items")
	expectStuck(t, step)
}
