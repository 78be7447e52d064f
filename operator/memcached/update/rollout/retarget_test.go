package rollout_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/operator/memcached/update/diff"
	"github.com/example/memcached-operator/operator/memcached/update/rollout"
)

// Until the kubelet has acted on a patch, nobody can tell which image the container is going to have.
func TestARevertWaitsForTheRestartThatWasAskedFor(t *testing.T) {
	w := newWorld(t, 2, warm())
	w.want(upgraded)
	w.make(w.next())
	w.want(warm())
	expect(t, w.next(), rollout.Wait, 1, "memcached in cache-1 has yet to be restarted, as was asked for before")
	w.run(60)
	w.expectDone()
}

// The items that were there before a broken image are still asked about after the next one.
func TestItemsThatAreLostBehindABrokenImageStop(t *testing.T) {
	w := newWorld(t, 3, warm())
	w.want(mistaken)
	w.run(8)
	w.machine(2).saved = 0
	w.want(upgraded)
	w.run(20)
	expect(t, w.next(), rollout.Wait, 2, "memcached in cache-2 started empty, although it should have kept its")
}

// What is left of a revision that was given up is taken back.
func TestLabelsAreTakenBack(t *testing.T) {
	w := newWorld(t, 2, warm())
	w.want(mistaken.with(func(s *shape) { s.labels = map[string]string{"new": "yes"} }))
	w.run(8)
	if w.pod(1).Labels["new"] != "yes" {
		t.Fatalf("the labels are %v", w.pod(1).Labels)
	}
	w.want(warm())
	expect(t, w.next(), rollout.Patch, 1, "labels (Live)")
	w.run(30)
	w.expectDone()
	if _, left := w.pod(1).Labels["new"]; left {
		t.Errorf("the labels are %v", w.pod(1).Labels)
	}
}

// A pod that is about to restart comes before those with higher numbers, which are ready.
func TestAPodOnItsWayComesFirst(t *testing.T) {
	w := newWorld(t, 3, warm())
	w.want(upgraded)
	for w.pod(1).Annotations[rollout.UpdateAnnotation] == "" {
		w.make(w.next())
		if w.pod(1).Annotations[rollout.UpdateAnnotation] == "" {
			w.turn(func() bool { return true })
		}
	}
	w.want(upgraded.with(func(s *shape) { s.agent = "agent:2" }))
	expect(t, w.next(), rollout.Wait, 1, "has yet to be restarted")
}

// A restart that comes after a resize looks at the other pods once more.
func TestARestartAfterAResizeWaitsForOthers(t *testing.T) {
	w := newWorld(t, 2, normalised())
	w.want(normalised().with(func(s *shape) { s.memory = 256; s.agent = "agent:2" }))
	if got := kinds(w.run(2)); got != "Patch 1, Resize 1" {
		t.Fatalf("made the steps %s", got)
	}
	w.unready(0, 0)
	w.settle(5)
	expect(t, w.next(), rollout.Wait, 0, "cache-0 is not ready yet")
	w.machine(0).sick = false
	w.run(60)
	w.expectDone()
}

// Pods that are both broken would wait for each other for ever.
func TestARestartOfABrokenPodWaitsForNobody(t *testing.T) {
	w := newWorld(t, 2, normalised())
	w.unready(0, 2*time.Minute)
	w.unready(1, 2*time.Minute)
	w.want(normalised().with(func(s *shape) { s.memory = 256; s.agent = "agent:2" }))
	if got := kinds(w.run(30)); got != "Patch 1, Resize 1, Patch 0, Resize 0, Patch 1, Patch 0" {
		t.Errorf("made the steps %s", got)
	}
	w.machine(0).sick, w.machine(1).sick = false, false
	w.run(30)
	w.expectDone()
}

// A webhook may change what a patch says. That must not be answered with another patch for ever.
func TestAWebhookThatChangesImagesDoesNotStartAFight(t *testing.T) {
	w := newWorld(t, 2, warm())
	w.want(warm().with(func(s *shape) { s.agent = "agent:2" }))
	patches := 0
	for range 60 {
		for _, step := range w.run(1) {
			if patches++; patches%2 == 0 && strings.Contains(string(step.Patch), "agent") {
				t.Errorf("the last patch of a pod says %s", step.Patch)
			}
		}
		for slot := range 2 {
			if agent := &w.pod(slot).Spec.Containers[1]; agent.Image == "agent:2" {
				agent.Image = "mirror/agent:2"
			}
		}
	}
	if step := w.next(); step.Kind != rollout.None || patches != 4 {
		t.Errorf("after %d patches there is %s: %s", patches, step.Kind, step.Message)
	}
}

// A pod counts only when it is ready again.
func TestAPodIsDoneWhenItIsReady(t *testing.T) {
	w := newWorld(t, 2, warm())
	w.want(upgraded)
	w.run(1)
	w.machine(1).sick = true
	w.run(10)
	expect(t, w.next(), rollout.Wait, 1, "cache-1 is not ready yet")
	if progress := w.situation().Progress(w.next()); progress.Updated != 0 {
		t.Errorf("the progress is %+v", progress)
	}
	w.machine(1).sick = false
	w.run(60)
	w.expectDone()
}

// An agent that has not looked since the restart speaks of the memcached before.
func TestAnAgentThatIsBehindIsWaitedFor(t *testing.T) {
	w := newWorld(t, 2, warm())
	process := w.machine(1).process
	w.want(upgraded)
	w.run(10)
	now := *w.machine(1)
	w.machine(1).process, w.machine(1).warm = process, false
	w.pod(1).Labels["controller-revision-hash"] = "" // As if the last patch had not been made.
	w.pod(1).Annotations[rollout.UpdateAnnotation] = fmt.Sprintf(
		`{"revision":%q,"since":"2026-05-04T08:00:00Z","patched":true,"items":100,"process":%d}`, w.set.Status.UpdateRevision, process)
	for revision := range w.revisions {
		if revision != w.set.Status.UpdateRevision {
			w.pod(1).Labels["controller-revision-hash"] = revision
		}
	}
	expect(t, w.next(), rollout.Wait, 1, "the agent of cache-1 has yet to see that memcached started anew")
	*w.machine(1) = now
	expect(t, w.next(), rollout.Patch, 1, "found its items again: it had 100")
	w.machine(1).mute = true
	expect(t, w.next(), rollout.Wait, 1, "the agent of cache-1 has yet to tell how memcached started")
}

// A broken pod may still hold items in its volume; where they cannot be kept, their loss is no surprise.
func TestABrokenPodWithAVolume(t *testing.T) {
	w := newWorld(t, 2, upgraded)
	w.unready(1, 2*time.Minute)
	w.want(warm())
	step := w.next()
	expect(t, step, rollout.Patch, 1, "image 1.6.45 -> 1.6.18 (Cold)")
	if step.Class != diff.Cold {
		t.Errorf("the class is %s", step.Class)
	}
	w.machine(1).sick = false
	if got := kinds(w.run(40)); got != "Patch 1, Patch 1, Replace 0" {
		t.Errorf("made the steps %s", got)
	}
	w.expectDone()

	// A container cannot be taken from a pod, or added.
	w.unready(1, 2*time.Minute)
	w.want(warm().with(func(s *shape) { s.agent = "" }))
	expect(t, w.next(), rollout.Replace, 1, "serves nobody")
}

// A kubelet that cannot read the state of a container calls the pod pending, although memcached runs.
func TestAPodOfUnknownStateIsNotTakenForEmpty(t *testing.T) {
	w := newWorld(t, 2, normalised())
	w.want(normalised().with(func(s *shape) { s.connections = 2048 }))
	setReady(w.pod(0), false, w.now)
	w.pod(0).Status.Phase = corev1.PodPending
	statusOf(w.pod(0), "memcached").State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}
	expect(t, w.next(), rollout.Wait, 0, "cache-0 is not ready yet")
}

// Whatever stands in the annotation, the pod comes to its end.
func TestAnAnnotationThatCannotBeRead(t *testing.T) {
	w := newWorld(t, 2, warm())
	w.pod(1).Annotations[rollout.UpdateAnnotation] = "yes"
	if got := kinds(w.run(10)); got != "Patch 1, Patch 1" {
		t.Errorf("made the steps %s", got)
	}
	w.expectDone()
}

// The machine says in several ways that a resize is not done.
func TestAResizeIsAwaited(t *testing.T) {
	w := newWorld(t, 1, normalised())
	w.want(normalised().with(func(s *shape) { s.memory = 256 }))
	w.make(w.next())
	w.make(w.next())
	expect(t, w.next(), rollout.Wait, 0, "the machine of cache-0 has yet to act on the change")
	pod := w.pod(0)
	pod.Status.ObservedGeneration = pod.Generation
	expect(t, w.next(), rollout.Wait, 0, "the machine of cache-0 has yet to resize it")
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodResizeInProgress, Status: corev1.ConditionTrue})
	expect(t, w.next(), rollout.Wait, 0, "cache-0 is being resized")
	pod.Status.Conditions[len(pod.Status.Conditions)-1].Reason = corev1.PodReasonError
	pod.Status.Conditions[len(pod.Status.Conditions)-1].Message = "below its usage"
	expect(t, w.next(), rollout.Wait, 0, "cache-0 is being resized, which fails: below its usage")
}

// A limit that was asked for and refused is none that items could be put into, though the next one is less.
func TestLessThanWhatWasRefusedIsStillMore(t *testing.T) {
	w := newWorld(t, 1, normalised())
	w.machine(0).refuses = corev1.PodReasonDeferred
	w.want(normalised().with(func(s *shape) { s.memory = 4096 }))
	w.run(10)
	w.want(normalised().with(func(s *shape) { s.memory = 256 }))
	if got := kinds(w.run(10)); got != "Patch 0, Resize 0" || w.machine(0).memory != 64 {
		t.Errorf("made the steps %s; memcached has %dMi for items", got, w.machine(0).memory)
	}
	w.machine(0).refuses = ""
	w.run(20)
	w.expectDone()
}

// A pod gets requests from its limits, a template does not.
func TestRequestsThatFollowFromLimitsAreNoChange(t *testing.T) {
	s := normalised()
	w := newWorld(t, 1, s)
	template := s.template()
	template.Labels["new"] = "yes"
	template.Spec.Containers[0].Resources.Requests = nil
	w.pod(0).Spec.Containers[0].Resources.Requests = w.pod(0).Spec.Containers[0].Resources.Limits
	w.set.Spec.Template = template
	w.set.Generation++
	w.seeTemplate()
	expect(t, w.next(), rollout.Patch, 0, "cache-0 has the template now: labels (Live)")
}
