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
func newLimpingWorld(t *testing.T, s shape) *world {
	w := newWorld(t, 3, s)
	w.crippled = s.agent
	for slot := range 3 {
		w.limp(slot, time.Hour)
	}
	return w
}

// runOneAtATime makes steps, and checks that at most one memcached is down.
func (w *world) runOneAtATime(turns int) []rollout.Step {
	w.t.Helper()
	var steps []rollout.Step
	for range turns {
		steps = append(steps, w.run(1)...)
		w.oneDown()
	}
	return steps
}

func (w *world) oneDown() {
	w.t.Helper()
	var down []string
	for name, m := range w.machines {
		if m.down {
			down = append(down, name)
		}
	}
	if len(down) > 1 {
		w.t.Fatalf("the operator has taken memcached down in %v at a time", down)
	}
}

// Nodes that serve are brought to the template one after another, although no agent works: whatever the class, and without an
// answer of the agent. The new agent is what mends them.
func TestLimpingPodsFollowOneAfterAnother(t *testing.T) {
	for name, test := range map[string]struct {
		begin  shape
		change func(*shape)
		why    string
		class  diff.Class
		steps  string
	}{
		"live": {normalised(), newAgent, "agentImage (Live)", diff.Live, "Patch 2, Patch 2, Patch 1, Patch 1, Patch 0, Patch 0"},
		"warm": {warm(), func(s *shape) { s.agent, s.version = "agent:2", "1.6.45" }, "image 1.6.18 -> 1.6.45 (Warm)", diff.Warm,
			"Patch 2, Patch 2, Patch 1, Patch 1, Patch 0, Patch 0"},
		"cold": {normalised(), func(s *shape) { s.agent, s.connections = "agent:2", 2048 }, "arguments.maxConnections (Cold)", diff.Cold,
			"Replace 2, Replace 1, Replace 0"},
		"live, with memory": {normalised(), func(s *shape) { s.agent, s.memory = "agent:2", 128 }, "arguments.cacheMemory (Live)", diff.Live,
			"Patch 2, Resize 2, Patch 2, Patch 2, Patch 1, Resize 1, Patch 1, Patch 1, Patch 0, Resize 0, Patch 0, Patch 0"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newLimpingWorld(t, test.begin)
			items, before := w.machine(0).items, w.uids()
			w.want(test.begin.with(test.change))
			step := w.next()
			if step.Class != test.class || !strings.Contains(step.Message, test.why) || step.Kind == rollout.Replace && !step.Unready {
				t.Errorf("the step is %+v", step)
			}
			if got := kinds(w.runOneAtATime(120)); got != test.steps {
				t.Errorf("made the steps %s", got)
			}
			w.expectDone()
			if test.class != diff.Cold && (w.uids() != before || w.machine(0).items < items) {
				t.Error("items were lost")
			}
		})
	}
}

// An agent that still does not work stops at the first node, and the spec that mends it begins there.
func TestAnAgentThatStaysBrokenStops(t *testing.T) {
	for name, test := range map[string]struct {
		begin  shape
		change func(*shape)
		first  string
		mended string
	}{
		"warm": {warm(), func(s *shape) { s.version = "1.6.45" }, "Patch 2", "Patch 2, Patch 2, Patch 1, Patch 1, Patch 0, Patch 0"},
		"cold": {normalised(), func(s *shape) { s.connections = 2048 }, "Replace 2", "Patch 2, Patch 2, Replace 1, Replace 0"},
		"live": {normalised(), func(s *shape) { s.labels = map[string]string{"new": "yes"} }, "Patch 2", "Patch 2, Patch 2, Patch 1, Patch 1, Patch 0, Patch 0"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newLimpingWorld(t, test.begin)
			w.want(test.begin.with(test.change))
			if got := kinds(w.runOneAtATime(200)); got != test.first {
				t.Errorf("made the steps %s", got)
			}
			step := w.next()
			expect(t, step, rollout.Wait, 2, "cache-2 has not been ready for more than ten minutes")
			if !step.Stuck {
				t.Error("it is not stuck")
			}
			w.want(test.begin.with(test.change).with(newAgent))
			if got := kinds(w.runOneAtATime(120)); got != test.mended {
				t.Errorf("made the steps %s", got)
			}
			w.expectDone()
		})
	}
}

// How long, and why, a pod is not ready decides whether anything is done about it.
func TestWhatAPodThatIsNotReadyIsTakenFor(t *testing.T) {
	waits := func(w *world, container, reason string) {
		status := statusOf(w.pod(0), container)
		status.Ready, status.State = false, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
	}
	starts := func(w *world, ago time.Duration) {
		status := statusOf(w.pod(0), "memcached")
		status.Ready, status.State.Running.StartedAt = false, metav1.NewTime(w.now.Add(-ago))
	}
	ends := func(w *world, state func(*corev1.ContainerStatus) *corev1.ContainerState, ago time.Duration) {
		status := statusOf(w.pod(0), "memcached")
		status.Ready, status.State = false, corev1.ContainerState{}
		*state(status) = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(w.now.Add(-ago))}}
	}
	last := func(s *corev1.ContainerStatus) *corev1.ContainerState { return &s.LastTerminationState }
	now := func(s *corev1.ContainerStatus) *corev1.ContainerState { return &s.State }
	const momentary, limping, broken = "cache-0 is not ready", "cache-0 is replaced, and starts empty", "cache-0 serves nobody"
	for name, test := range map[string]struct {
		since time.Duration
		and   func(w *world)
		want  string
	}{
		"the agent, for a moment": {59 * time.Second, func(*world) {}, momentary},
		"the agent, for a minute": {time.Minute, func(*world) {}, limping},
		"the agent cannot start":  {0, func(w *world) { waits(w, "agent", "CrashLoopBackOff") }, limping},
		"the agent cannot start, nor memcached": {0, func(w *world) {
			waits(w, "agent", "ImagePullBackOff")
			waits(w, "memcached", "ImagePullBackOff")
		}, broken},
		"the agent cannot start, and memcached is not ready for a moment": {0, func(w *world) {
			waits(w, "agent", "CrashLoopBackOff")
			statusOf(w.pod(0), "memcached").Ready = false
		}, momentary},
		"memcached cannot start":                         {0, func(w *world) { waits(w, "memcached", "CrashLoopBackOff") }, broken},
		"memcached is being started":                     {0, func(w *world) { waits(w, "memcached", "ContainerCreating") }, momentary},
		"memcached started a moment ago":                 {time.Hour, func(w *world) { starts(w, 59*time.Second) }, momentary},
		"memcached started a minute ago":                 {time.Hour, func(w *world) { starts(w, time.Minute) }, broken},
		"memcached ended a moment ago":                   {time.Hour, func(w *world) { ends(w, now, 5*time.Second) }, momentary},
		"memcached ended a minute ago":                   {time.Hour, func(w *world) { ends(w, now, time.Minute) }, broken},
		"memcached ended a moment ago, and is to follow": {time.Hour, func(w *world) { ends(w, last, 5*time.Second) }, momentary},
		"memcached ended a minute ago, and is to follow": {time.Hour, func(w *world) { ends(w, last, time.Minute) }, broken},
		"memcached is not known to run": {time.Hour, func(w *world) {
			statusOf(w.pod(0), "memcached").State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}
		}, broken},
		"no machine has room": {0, func(w *world) {
			statusOf(w.pod(0), "memcached").Ready = false
			w.pod(0).Status.Conditions = append(w.pod(0).Status.Conditions, corev1.PodCondition{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable})
		}, broken},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 2, normalised())
			w.want(normalised().with(func(s *shape) { s.connections = 2048 }))
			w.limp(0, test.since)
			test.and(w)
			kind := rollout.Replace
			if test.want == momentary {
				kind = rollout.Wait
			}
			expect(t, w.next(), kind, 0, test.want)
		})
	}
}

// A node that limps comes before those that are ready, and holds them up no longer than it takes to bring it to the template.
func TestALimpingPodComesFirst(t *testing.T) {
	w := newWorld(t, 3, warm())
	w.crippled = "agent:1"
	w.limp(1, time.Hour)
	w.want(upgraded.with(newAgent))
	if got := kinds(w.runOneAtATime(120)); got != "Patch 1, Patch 1, Patch 2, Patch 2, Patch 0, Patch 0" {
		t.Errorf("made the steps %s", got)
	}
	w.expectDone()
}

// A node that is of the template and not ready holds up all others, those that limp as well.
func TestALimpingPodOfTheTemplateStops(t *testing.T) {
	w := newWorld(t, 3, normalised())
	w.want(normalised().with(func(s *shape) { s.connections = 2048 }))
	w.make(w.next())
	w.settle(10)
	for _, slot := range []int{2, 1, 0} {
		w.limp(slot, 2*time.Minute)
	}
	expect(t, w.next(), rollout.Wait, 2, "cache-2 is not ready yet")
	w.settle(5)
	expect(t, w.next(), rollout.Wait, 2, "cache-2 is not ready yet")
	w.pods["cache-2"].DeletionTimestamp = &metav1.Time{Time: w.now}
	expect(t, w.next(), rollout.Wait, -1, "cache-2 is not there yet")
}

// Two that have come on their way while they were broken, and limp now, restart one after the other.
func TestLimpingPodsOnTheirWayRestartOneAfterAnother(t *testing.T) {
	w := newWorld(t, 2, normalised())
	w.crippled = "agent:1"
	w.unready(0, 2*time.Minute)
	w.unready(1, 2*time.Minute)
	w.want(normalised().with(func(s *shape) { s.memory = 256; s.agent = "agent:2" }))
	if got := kinds(w.run(4)); got != "Patch 1, Resize 1, Patch 0, Resize 0" {
		t.Fatalf("made the steps %s", got)
	}
	for slot := range 2 {
		w.machine(slot).sick = false
		statusOf(w.pod(slot), "memcached").Ready = true
		w.limp(slot, 2*time.Minute)
	}
	for range 60 {
		w.run(1)
		restarting := 0
		for slot := range 2 {
			if strings.Contains(w.pod(slot).Annotations[rollout.UpdateAnnotation], `"patched":true`) && !isReady(w.pod(slot)) {
				restarting++
			}
		}
		if restarting > 1 {
			t.Fatal("both agents restart at the same time")
		}
	}
	w.expectDone()
}

// What limps is deleted only if its template is known: it may hold all its items.
func TestALimpingPodOfAnUnknownRevision(t *testing.T) {
	w := newLimpingWorld(t, normalised())
	w.pod(2).Labels["controller-revision-hash"] = "cache-lost"
	w.want(normalised().with(func(s *shape) { s.connections = 2048 }))
	step := w.next()
	expect(t, step, rollout.Wait, 2, "cache-2 cannot be compared with the template")
	if !step.Stuck {
		t.Error("it is not stuck")
	}
}
