package rollout_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/operator/memcached/update/diff"
	"github.com/example/memcached-operator/operator/memcached/update/rollout"
)

// newLimpingWorld returns three pods whose memcached serves, but whose agent does not work with its image.
func newDegradedCluster(t *testing.T, s templateOptions) *cluster {
	c := newCluster(t, 3, s)
	c.brokenAgentImage = s.agent
	for ordinal := range 3 {
		c.degrade(ordinal, time.Hour)
	}
	return c
}

// runOneAtATime makes steps, and checks that at most one memcached is down.
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
		c.t.Fatalf("the operator has taken memcached down in %v at a time", down)
	}
}

// Nodes that serve are brought to the template one after another, although no agent works: whatever the class, and without an
// answer of the agent. The new agent is what mends them.
func TestLimpingPodsFollowOneAfterAnother(t *testing.T) {
	for name, test := range map[string]struct {
		begin  templateOptions
		change func(*templateOptions)
		why    string
		class  diff.Class
		steps  string
	}{
		"live": {withoutWarmRestart(), withNewAgent, "agentImage (Live)", diff.Live, "Patch 2, Patch 2, Patch 1, Patch 1, Patch 0, Patch 0"},
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
			if !strings.Contains(step.Message, test.why) || step.Kind == rollout.Replace && !step.Unready {
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

// An agent that still does not work stops at the first node, and the spec that mends it begins there.
func TestAnAgentThatStaysBrokenStops(t *testing.T) {
	for name, test := range map[string]struct {
		begin  templateOptions
		change func(*templateOptions)
		first  string
		mended string
	}{
		"warm": {withWarmRestart(), func(s *templateOptions) { s.version = "1.6.45" }, "Patch 2", "Patch 2, Patch 2, Patch 1, Patch 1, Patch 0, Patch 0"},
		"cold": {withoutWarmRestart(), func(s *templateOptions) { s.connections = 2048 }, "Replace 2", "Patch 2, Patch 2, Replace 1, Replace 0"},
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
			if !step.Stuck {
				t.Error("it is not stuck")
			}
			c.want(test.begin.with(test.change).with(withNewAgent))
			if got := summarise(c.runOneAtATime(120)); got != test.mended {
				t.Errorf("made the steps %s", got)
			}
			c.expectDone()
		})
	}
}

// How long, and why, a pod is not ready decides whether anything is done about it.
func TestWhatAPodThatIsNotReadyIsTakenFor(t *testing.T) {
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
	const momentary, limping, broken = "cache-0 is not ready", "cache-0 is replaced and starts empty", "cache-0 serves no clients"
	for name, test := range map[string]struct {
		since time.Duration
		and   func(c *cluster)
		want  string
	}{
		"the agent, for a moment": {59 * time.Second, func(*cluster) {}, momentary},
		"the agent, for a minute": {time.Minute, func(*cluster) {}, limping},
		"the agent cannot start":  {0, func(c *cluster) { waits(c, "agent", "CrashLoopBackOff") }, limping},
		"the agent cannot start, nor memcached": {0, func(c *cluster) {
			waits(c, "agent", "ImagePullBackOff")
			waits(c, "memcached", "ImagePullBackOff")
		}, broken},
		"the agent cannot start, and memcached is not ready for a moment": {0, func(c *cluster) {
			waits(c, "agent", "CrashLoopBackOff")
			statusOf(c.pod(0), "memcached").Ready = false
		}, momentary},
		"memcached cannot start":                         {0, func(c *cluster) { waits(c, "memcached", "CrashLoopBackOff") }, broken},
		"memcached is being started":                     {0, func(c *cluster) { waits(c, "memcached", "ContainerCreating") }, momentary},
		"memcached started a moment ago":                 {time.Hour, func(c *cluster) { starts(c, 59*time.Second) }, momentary},
		"memcached started a minute ago":                 {time.Hour, func(c *cluster) { starts(c, time.Minute) }, broken},
		"memcached ended a moment ago":                   {time.Hour, func(c *cluster) { ends(c, now, 5*time.Second) }, momentary},
		"memcached ended a minute ago":                   {time.Hour, func(c *cluster) { ends(c, now, time.Minute) }, broken},
		"memcached ended a moment ago, and is to follow": {time.Hour, func(c *cluster) { ends(c, last, 5*time.Second) }, momentary},
		"memcached ended a minute ago, and is to follow": {time.Hour, func(c *cluster) { ends(c, last, time.Minute) }, broken},
		"memcached is not known to run": {time.Hour, func(c *cluster) {
			statusOf(c.pod(0), "memcached").State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}
		}, broken},
		"no machine has room": {0, func(c *cluster) {
			statusOf(c.pod(0), "memcached").Ready = false
			c.pod(0).Status.Conditions = append(c.pod(0).Status.Conditions, corev1.PodCondition{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable})
		}, broken},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 2, withoutWarmRestart())
			c.want(withoutWarmRestart().with(func(s *templateOptions) { s.connections = 2048 }))
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

// A node that limps comes before those that are ready, and holds them up no longer than it takes to bring it to the template.
func TestALimpingPodComesFirst(t *testing.T) {
	c := newCluster(t, 3, withWarmRestart())
	c.brokenAgentImage = "agent:1"
	c.degrade(1, time.Hour)
	c.want(upgraded.with(withNewAgent))
	if got := summarise(c.runOneAtATime(120)); got != "Patch 1, Patch 1, Patch 2, Patch 2, Patch 0, Patch 0" {
		t.Errorf("made the steps %s", got)
	}
	c.expectDone()
}

// A node that is up to date and not ready holds up all others, those that limp as well.
func TestALimpingPodOfTheTemplateStops(t *testing.T) {
	c := newCluster(t, 3, withoutWarmRestart())
	c.want(withoutWarmRestart().with(func(s *templateOptions) { s.connections = 2048 }))
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

// Two that have come on their way while they were broken, and limp now, restart one after the other.
func TestLimpingPodsOnTheirWayRestartOneAfterAnother(t *testing.T) {
	c := newCluster(t, 2, withoutWarmRestart())
	c.brokenAgentImage = "agent:1"
	c.unready(0, 2*time.Minute)
	c.unready(1, 2*time.Minute)
	c.want(withoutWarmRestart().with(func(s *templateOptions) { s.memory = 256; s.agent = "agent:2" }))
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

// What limps is deleted only if its template is known: it may hold all its items.
func TestALimpingPodOfAnUnknownRevision(t *testing.T) {
	c := newDegradedCluster(t, withoutWarmRestart())
	c.pod(2).Labels["controller-revision-hash"] = "cache-lost"
	c.want(withoutWarmRestart().with(func(s *templateOptions) { s.connections = 2048 }))
	step := c.next()
	expect(t, step, rollout.Wait, 2, "cache-2 cannot be compared with the template")
	if !step.Stuck {
		t.Error("it is not stuck")
	}
}
