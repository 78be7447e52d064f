package rollout_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/operator/memcached/update/diff"
	"github.com/example/memcached-operator/operator/memcached/update/rollout"
)

// newDegradedCluster returns three pods whose memcached serves clients, but whose agent does not work with its image.
func newDegradedCluster(t *testing.T, s templateOptions) *cluster {
	c := newCluster(t, 3, s)
	c.brokenAgentImage = s.agent
	for ordinal := range 3 {
		c.degrade(ordinal, time.Hour)
	}
	return c
}

// runOneAtATime makes steps, and checks that at most one memcached is down at a time.
func (c *cluster) runOneAtATime(ticks int) []rollout.Step {
	c.t.Helper()
	var steps []rollout.Step
	for range ticks {
		steps = append(steps, c.run(1)...)
		c.oneDown()
	}
	return steps
}

func (c *cluster) oneDown() {
	c.t.Helper()
	var down []string
	for name, m := range c.simulated {
		if m.downByOperator {
			down = append(down, name)
		}
	}
	if len(down) > 1 {
		c.t.Fatalf("memcached is down in %v at the same time because of the operator", down)
	}
}

// Pods that serve clients are updated one after another although no agent works, whatever the class of the change. The new agent
// repairs them.
func TestDegradedPodsAreUpdatedOneAfterAnother(t *testing.T) {
	for name, test := range map[string]struct {
		begin   templateOptions
		change  func(*templateOptions)
		changes string
		class   diff.Class
		steps   string
	}{
		"live": {withoutWarmRestart(), newAgent, "agentImage (Live)", diff.Live, "Patch 2, Patch 2, Patch 1, Patch 1, Patch 0, Patch 0"},
		"warm": {withWarmRestart(), func(s *templateOptions) { s.agent, s.version = "agent:2", "1.6.45" }, "image 1.6.18 -> 1.6.45 (Warm)", diff.Warm,
			"Patch 2, Patch 2, Patch 1, Patch 1, Patch 0, Patch 0"},
		"cold": {withoutWarmRestart(), func(s *templateOptions) { s.agent, s.connections = "agent:2", 2048 }, "arguments.maxConnections (Cold)", diff.Cold,
			"Replace 2, Replace 1, Replace 0"},
		"live, with memory": {withoutWarmRestart(), func(s *templateOptions) { s.agent, s.memory = "agent:2", 128 }, "arguments.cacheMemory (Live)", diff.Live,
			"Patch 2, Resize 2, Patch 2, Patch 2, Patch 1, Resize 1, Patch 1, Patch 1, Patch 0, Resize 0, Patch 0, Patch 0"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newDegradedCluster(t, test.begin)
			items, before := c.simulatedPod(0).items, c.uids()
			c.want(test.begin.with(test.change))
			step := c.next()
			if !strings.Contains(step.Message, test.changes) || step.Kind == rollout.Replace && !step.Unready {
				t.Errorf("the step is %+v", step)
			}
			if got := summarise(c.runOneAtATime(120)); got != test.steps {
				t.Errorf("made the steps %s", got)
			}
			c.expectDone()
			if test.class != diff.Cold && (c.uids() != before || c.simulatedPod(0).items < items) {
				t.Error("items were lost")
			}
		})
	}
}

// An agent that still does not work stops the rollout at the first pod, and a corrected spec continues there.
func TestAnAgentThatStaysBrokenStopsTheRollout(t *testing.T) {
	for name, test := range map[string]struct {
		begin  templateOptions
		change func(*templateOptions)
		first  string
		next   string
	}{
		"warm": {withWarmRestart(), newVersion, "Patch 2", "Patch 2, Patch 2, Patch 1, Patch 1, Patch 0, Patch 0"},
		"cold": {withoutWarmRestart(), moreConnections, "Replace 2", "Patch 2, Patch 2, Replace 1, Replace 0"},
		"live": {withoutWarmRestart(), func(s *templateOptions) { s.labels = map[string]string{"new": "yes"} }, "Patch 2", "Patch 2, Patch 2, Patch 1, Patch 1, Patch 0, Patch 0"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newDegradedCluster(t, test.begin)
			c.want(test.begin.with(test.change))
			if got := summarise(c.runOneAtATime(200)); got != test.first {
				t.Errorf("made the steps %s", got)
			}
			step := c.next()
			expect(t, step, rollout.Wait, 2, "cache-2 has not been ready for more than ten minutes")
			expectStuck(t, step)
			c.want(test.begin.with(test.change).with(newAgent))
			if got := summarise(c.runOneAtATime(120)); got != test.next {
				t.Errorf("made the steps %s", got)
			}
			c.expectDone()
		})
	}
}

// What is done about an unready pod depends on why, and since when, it is unready.
func TestUnreadyPods(t *testing.T) {
	waits := func(c *cluster, container, reason string) {
		status := statusOf(c.pod(0), container)
		status.Ready, status.State = false, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
	}
	starts := func(c *cluster, ago time.Duration) {
		status := statusOf(c.pod(0), "memcached")
		status.Ready, status.State.Running.StartedAt = false, metav1.NewTime(c.now.Add(-ago))
	}
	ends := func(c *cluster, state func(*corev1.ContainerStatus) *corev1.ContainerState, ago time.Duration) {
		status := statusOf(c.pod(0), "memcached")
		status.Ready, status.State = false, corev1.ContainerState{}
		*state(status) = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(c.now.Add(-ago))}}
	}
	last := func(s *corev1.ContainerStatus) *corev1.ContainerState { return &s.LastTerminationState }
	now := func(s *corev1.ContainerStatus) *corev1.ContainerState { return &s.State }
	findsItems := func(c *cluster) {
		statusOf(c.pod(0), "memcached").Started = ptr.To(false)
		c.pod(0).Spec.Containers[0].StartupProbe = &corev1.Probe{InitialDelaySeconds: 1, PeriodSeconds: 1, FailureThreshold: 600}
	}
	const momentary, degraded, broken = "cache-0 is not ready", "cache-0 is replaced and starts empty", "cache-0 serves no clients"
	for name, test := range map[string]struct {
		since time.Duration
		and   func(c *cluster)
		want  string
	}{
		"the agent, for a moment": {59 * time.Second, func(*cluster) {}, momentary},
		"the agent, for a minute": {time.Minute, func(*cluster) {}, degraded},
		"the agent cannot start":  {0, func(c *cluster) { waits(c, "agent", "CrashLoopBackOff") }, degraded},
		"the agent cannot start, nor memcached": {0, func(c *cluster) {
			waits(c, "agent", "ImagePullBackOff")
			waits(c, "memcached", "ImagePullBackOff")
		}, broken},
		"the agent cannot start, and memcached is not ready for a moment": {0, func(c *cluster) {
			waits(c, "agent", "CrashLoopBackOff")
			statusOf(c.pod(0), "memcached").Ready = false
		}, momentary},
		"memcached cannot start":         {0, func(c *cluster) { waits(c, "memcached", "CrashLoopBackOff") }, broken},
		"memcached is being started":     {0, func(c *cluster) { waits(c, "memcached", "ContainerCreating") }, momentary},
		"memcached started a moment ago": {time.Hour, func(c *cluster) { starts(c, 59*time.Second) }, momentary},
		"memcached started a minute ago": {time.Hour, func(c *cluster) { starts(c, time.Minute) }, broken},
		"memcached started minutes ago, and its startup probe allows ten": {time.Hour, func(c *cluster) {
			starts(c, 599*time.Second)
			findsItems(c)
		}, momentary},
		"memcached started longer ago than its startup probe allows": {time.Hour, func(c *cluster) {
			starts(c, 601*time.Second)
			findsItems(c)
		}, broken},
		"memcached started minutes ago, and its startup probe has succeeded": {time.Hour, func(c *cluster) {
			starts(c, 2*time.Minute)
			findsItems(c)
			statusOf(c.pod(0), "memcached").Started = ptr.To(true)
		}, broken},
		"memcached ended a moment ago":                        {time.Hour, func(c *cluster) { ends(c, now, 5*time.Second) }, momentary},
		"memcached ended a minute ago":                        {time.Hour, func(c *cluster) { ends(c, now, time.Minute) }, broken},
		"memcached ended a moment ago, and is about to start": {time.Hour, func(c *cluster) { ends(c, last, 5*time.Second) }, momentary},
		"memcached ended a minute ago, and is about to start": {time.Hour, func(c *cluster) { ends(c, last, time.Minute) }, broken},
		"the state of memcached is unknown": {time.Hour, func(c *cluster) {
			statusOf(c.pod(0), "memcached").State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}
		}, broken},
		"the pod cannot be scheduled": {0, func(c *cluster) {
			statusOf(c.pod(0), "memcached").Ready = false
			c.pod(0).Status.Conditions = append(c.pod(0).Status.Conditions, corev1.PodCondition{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable})
		}, broken},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 2, withoutWarmRestart())
			c.want(withoutWarmRestart().with(moreConnections))
			c.degrade(0, test.since)
			test.and(c)
			kind := rollout.Replace
			if test.want == momentary {
				kind = rollout.Wait
			}
			expect(t, c.next(), kind, 0, test.want)
		})
	}
}

// A degraded pod comes before ready ones, which wait only until it is up to date.
func TestADegradedPodComesFirst(t *testing.T) {
	c := newCluster(t, 3, withWarmRestart())
	c.brokenAgentImage = "agent:1"
	c.degrade(1, time.Hour)
	c.want(upgraded.with(newAgent))
	if got := summarise(c.runOneAtATime(120)); got != "Patch 1, Patch 1, Patch 2, Patch 2, Patch 2, Patch 0, Patch 0, Patch 0" {
		t.Errorf("made the steps %s", got)
	}
	c.expectDone()
}

// All other pods, degraded ones as well, wait for an unready pod that is up to date.
func TestADegradedPodThatIsUpToDateStopsTheRollout(t *testing.T) {
	c := newCluster(t, 3, withoutWarmRestart())
	c.want(withoutWarmRestart().with(moreConnections))
	c.make(c.next())
	c.settle(10)
	for _, ordinal := range []int{2, 1, 0} {
		c.degrade(ordinal, 2*time.Minute)
	}
	expect(t, c.next(), rollout.Wait, 2, "cache-2 is not ready yet")
	c.settle(5)
	expect(t, c.next(), rollout.Wait, 2, "cache-2 is not ready yet")
	c.pods["cache-2"].DeletionTimestamp = &metav1.Time{Time: c.now}
	expect(t, c.next(), rollout.Wait, -1, "cache-2 does not exist yet")
}

// Two pods whose update began while they were broken, and which are degraded now, restart one after the other.
func TestDegradedPodsThatAreBeingUpdatedRestartOneAfterAnother(t *testing.T) {
	c := newCluster(t, 2, withoutWarmRestart())
	c.brokenAgentImage = "agent:1"
	c.unready(0, 2*time.Minute)
	c.unready(1, 2*time.Minute)
	c.want(withoutWarmRestart().with(moreMemoryAndNewAgent))
	if got := summarise(c.run(4)); got != "Patch 1, Resize 1, Patch 0, Resize 0" {
		t.Fatalf("made the steps %s", got)
	}
	for ordinal := range 2 {
		c.simulatedPod(ordinal).memcachedBroken = false
		statusOf(c.pod(ordinal), "memcached").Ready = true
		c.degrade(ordinal, 2*time.Minute)
	}
	for range 60 {
		c.run(1)
		restarting := 0
		for ordinal := range 2 {
			if strings.Contains(c.pod(ordinal).Annotations[rollout.UpdateAnnotation], `"patched":true`) && !isReady(c.pod(ordinal)) {
				restarting++
			}
		}
		if restarting > 1 {
			t.Fatal("both agents restart at the same time")
		}
	}
	c.expectDone()
}

// A degraded pod may have all its items, so it is deleted only if its revision is known.
func TestADegradedPodOfAnUnknownRevision(t *testing.T) {
	c := newDegradedCluster(t, withoutWarmRestart())
	c.pod(2).Labels["controller-revision-hash"] = "cache-lost"
	c.want(withoutWarmRestart().with(moreConnections))
	step := c.next()
	expect(t, step, rollout.Wait, 2, "cache-2 cannot be compared with the template")
	expectStuck(t, step)
}
