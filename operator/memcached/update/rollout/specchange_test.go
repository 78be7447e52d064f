package rollout_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/operator/memcached/update/rollout"
)

// Until the kubelet has acted on a patch, nobody can tell which image the container is going to have.
func TestARevertWaitsForTheEarlierRestart(t *testing.T) {
	c := newCluster(t, 2, withWarmRestart())
	c.want(upgraded)
	c.make(c.next())
	c.want(withWarmRestart())
	expect(t, c.next(), rollout.Wait, 1, "memcached in cache-1 has not restarted yet after an earlier change")
	c.run(60)
	c.expectDone()
}

// The items from before a bad image are still expected after the next image.
func TestItemsLostWithABadImageStopTheRollout(t *testing.T) {
	c := newCluster(t, 3, withWarmRestart())
	c.want(badImage)
	c.run(8)
	c.simulatedPod(2).saved = 0
	c.want(upgraded)
	c.run(20)
	expect(t, c.next(), rollout.Wait, 2, "memcached in cache-2 started empty, although it should have kept its")
}

// Labels of a revision that was reverted are removed.
func TestLabelsAreReverted(t *testing.T) {
	c := newCluster(t, 2, withWarmRestart())
	c.want(badImage.with(func(s *templateOptions) { s.labels = map[string]string{"new": "yes"} }))
	c.run(8)
	if c.pod(1).Labels["new"] != "yes" {
		t.Fatalf("the labels are %v", c.pod(1).Labels)
	}
	c.want(withWarmRestart())
	expect(t, c.next(), rollout.Patch, 1, "labels (Live)")
	c.run(30)
	c.expectDone()
	if _, left := c.pod(1).Labels["new"]; left {
		t.Errorf("the labels are %v", c.pod(1).Labels)
	}
}

// A pod that is about to restart comes before ready ones with higher ordinals.
func TestAPodThatIsBeingUpdatedComesFirst(t *testing.T) {
	c := newCluster(t, 3, withWarmRestart())
	c.want(upgraded)
	for c.pod(1).Annotations[rollout.UpdateAnnotation] == "" {
		c.make(c.next())
		if c.pod(1).Annotations[rollout.UpdateAnnotation] == "" {
			c.tick(func() bool { return true })
		}
	}
	c.want(upgraded.with(newAgent))
	expect(t, c.next(), rollout.Wait, 1, "has not restarted yet")
}

// Before a restart after a resize, the other pods are checked once more.
func TestARestartAfterAResizeWaitsForOthers(t *testing.T) {
	c := newCluster(t, 2, withoutWarmRestart())
	c.want(withoutWarmRestart().with(moreMemoryAndNewAgent))
	if got := summarise(c.run(2)); got != "Patch 1, Resize 1" {
		t.Fatalf("made the steps %s", got)
	}
	c.unready(0, 0)
	c.settle(5)
	expect(t, c.next(), rollout.Wait, 0, "cache-0 is not ready yet")
	c.simulatedPod(0).memcachedBroken = false
	c.run(60)
	c.expectDone()
}

// Two broken pods would otherwise wait for each other for ever.
func TestARestartOfABrokenPodWaitsForNoOtherPod(t *testing.T) {
	c := newCluster(t, 2, withoutWarmRestart())
	c.unready(0, 2*time.Minute)
	c.unready(1, 2*time.Minute)
	c.want(withoutWarmRestart().with(moreMemoryAndNewAgent))
	if got := summarise(c.run(30)); got != "Patch 1, Resize 1, Patch 0, Resize 0, Patch 1, Patch 0" {
		t.Errorf("made the steps %s", got)
	}
	c.simulatedPod(0).memcachedBroken, c.simulatedPod(1).memcachedBroken = false, false
	c.run(30)
	c.expectDone()
}

// A webhook may change what a patch sets. The operator must not patch the pod again for ever.
func TestAWebhookThatChangesImagesCausesNoPatches(t *testing.T) {
	c := newCluster(t, 2, withWarmRestart())
	c.want(withWarmRestart().with(newAgent))
	patches := 0
	for range 60 {
		for _, step := range c.run(1) {
			if patches++; patches%2 == 0 && strings.Contains(string(step.Patch), "agent") {
				t.Errorf("the last patch of a pod says %s", step.Patch)
			}
		}
		for ordinal := range 2 {
			if agent := &c.pod(ordinal).Spec.Containers[1]; agent.Image == "agent:2" {
				agent.Image = "mirror/agent:2"
			}
		}
	}
	if step := c.next(); step.Kind != rollout.None || patches != 4 {
		t.Errorf("after %d patches there is %s: %s", patches, step.Kind, step.Message)
	}
}

// A pod counts as updated only when it is ready again.
func TestAPodIsUpToDateWhenItIsReady(t *testing.T) {
	c := newCluster(t, 2, withWarmRestart())
	c.want(upgraded)
	c.run(1)
	c.simulatedPod(1).memcachedBroken = true
	c.run(10)
	expect(t, c.next(), rollout.Wait, 1, "cache-1 is not ready yet")
	if progress := c.input().Progress(c.next()); progress.Updated != 0 {
		t.Errorf("the progress is %+v", progress)
	}
	c.simulatedPod(1).memcachedBroken = false
	c.run(60)
	c.expectDone()
}

// A restart may be so fast that the kubelet reports the new container together with a pod that is ready as before. What its probes
// say of the new container comes later. On a busy node it takes back what the first probe has said, and clients of a Service would
// notice that.
func TestAPodThatMayTurnUnreadyAfterItsRestartIsWaitedFor(t *testing.T) {
	for name, test := range map[string]struct {
		service bool
		ready   time.Duration // Since when the pod is, counted from the start of memcached.
		now     time.Duration // The operator's time, counted from then.
		waits   bool
	}{
		"ready from before":                {false, -time.Hour, 2 * time.Second, true},
		"ready from before, a Service":     {true, -time.Hour, 2 * time.Second, true},
		"ready since the start":            {false, time.Second, 2 * time.Second, false},
		"ready since the start, a Service": {true, time.Second, 2 * time.Second, true},
		"a node whose clock is ahead":      {true, time.Second, -10 * time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 2, withWarmRestart())
			c.service = test.service
			c.want(upgraded)
			c.run(10)
			pod := c.pod(1)
			for revision := range c.revisions {
				if revision != c.set.Status.UpdateRevision {
					pod.Labels["controller-revision-hash"] = revision // As if the last patch had not been made.
				}
			}
			pod.Annotations[rollout.UpdateAnnotation] = fmt.Sprintf(
				`{"revision":%q,"since":"2026-05-04T08:00:00Z","patched":true,"items":100,"restarts":{"memcached":"the one before"}}`, c.set.Status.UpdateRevision)
			started := statusOf(pod, "memcached").State.Running.StartedAt.Time
			setReady(pod, false, started.Add(test.ready))
			setReady(pod, true, started.Add(test.ready))
			c.now = started.Add(test.now)
			if test.waits {
				expect(t, c.next(), rollout.Wait, 1, "cache-1 has just restarted: the kubelet may still report that it is not ready")
				c.now = started.Add(5 * time.Second)
			}
			expect(t, c.next(), rollout.Patch, 1, "found its items again")
		})
	}
}

// An agent that has not noticed the restart yet reports on the earlier memcached.
func TestAnOutdatedAgentIsWaitedFor(t *testing.T) {
	c := newCluster(t, 2, withWarmRestart())
	process := c.simulatedPod(1).process
	c.want(upgraded)
	c.run(10)
	now := *c.simulatedPod(1)
	c.simulatedPod(1).process, c.simulatedPod(1).warm = process, false
	c.pod(1).Labels["controller-revision-hash"] = "" // As if the last patch had not been made.
	c.pod(1).Annotations[rollout.UpdateAnnotation] = fmt.Sprintf(
		`{"revision":%q,"since":"2026-05-04T08:00:00Z","patched":true,"items":100,"process":%d}`, c.set.Status.UpdateRevision, process)
	for revision := range c.revisions {
		if revision != c.set.Status.UpdateRevision {
			c.pod(1).Labels["controller-revision-hash"] = revision
		}
	}
	expect(t, c.next(), rollout.Wait, 1, "the agent of cache-1 has not noticed the restart of memcached yet")
	*c.simulatedPod(1) = now
	expect(t, c.next(), rollout.Patch, 1, "found its items again: it had 100")
	c.simulatedPod(1).agentUnreachable = true
	expect(t, c.next(), rollout.Wait, 1, "the agent of cache-1 has not reported yet how memcached started")
}

// A broken pod may have items in its volume. If a change cannot keep them, their loss does not stop the rollout.
func TestABrokenPodWithAVolume(t *testing.T) {
	c := newCluster(t, 2, upgraded)
	c.unready(1, 2*time.Minute)
	c.want(withWarmRestart())
	expect(t, c.next(), rollout.Patch, 1, "image 1.6.45 -> 1.6.18 (Cold)")
	c.simulatedPod(1).memcachedBroken = false
	if got := summarise(c.run(40)); got != "Patch 1, Patch 1, Replace 0" {
		t.Errorf("made the steps %s", got)
	}
	c.expectDone()

	// A container cannot be added to a pod or removed from it.
	c.unready(1, 2*time.Minute)
	c.want(withWarmRestart().with(func(s *templateOptions) { s.agent = "" }))
	expect(t, c.next(), rollout.Replace, 1, "serves no clients")
}

// A kubelet that cannot read the state of a container reports the pod as pending, although memcached runs.
func TestAPodInAnUnknownStateIsNotEmpty(t *testing.T) {
	c := newCluster(t, 2, withoutWarmRestart())
	c.want(withoutWarmRestart().with(moreConnections))
	setReady(c.pod(0), false, c.now)
	c.pod(0).Status.Phase = corev1.PodPending
	statusOf(c.pod(0), "memcached").State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}
	expect(t, c.next(), rollout.Wait, 0, "cache-0 is not ready yet")
}

// Whatever is in the annotation, the update finishes.
func TestAnUpdateStateThatCannotBeRead(t *testing.T) {
	c := newCluster(t, 2, withWarmRestart())
	c.pod(1).Annotations[rollout.UpdateAnnotation] = "yes"
	if got := summarise(c.run(10)); got != "Patch 1, Patch 1" {
		t.Errorf("made the steps %s", got)
	}
	c.expectDone()
}

// The kubelet reports in several ways that a resize is not done.
func TestAResizeIsAwaited(t *testing.T) {
	c := newCluster(t, 1, withoutWarmRestart())
	c.want(withoutWarmRestart().with(moreMemory))
	c.make(c.next())
	c.make(c.next())
	expect(t, c.next(), rollout.Wait, 0, "the kubelet has not acted on the change of cache-0 yet")
	pod := c.pod(0)
	pod.Status.ObservedGeneration = pod.Generation
	expect(t, c.next(), rollout.Wait, 0, "the kubelet has not resized cache-0 yet")
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodResizeInProgress, Status: corev1.ConditionTrue})
	expect(t, c.next(), rollout.Wait, 0, "cache-0 is being resized")
	pod.Status.Conditions[len(pod.Status.Conditions)-1].Reason = corev1.PodReasonError
	pod.Status.Conditions[len(pod.Status.Conditions)-1].Message = "below its usage"
	expect(t, c.next(), rollout.Wait, 0, "cache-0 is being resized, but the resize fails: below its usage")
}

// Items must not grow into a limit that the kubelet refused, even if the next limit is lower.
func TestALimitBelowARefusedOneIsStillAResize(t *testing.T) {
	c := newCluster(t, 1, withoutWarmRestart())
	c.simulatedPod(0).refusesResize = corev1.PodReasonDeferred
	c.want(withoutWarmRestart().with(func(s *templateOptions) { s.memory = 4096 }))
	c.run(10)
	c.want(withoutWarmRestart().with(moreMemory))
	if got := summarise(c.run(10)); got != "Patch 0, Resize 0" || c.simulatedPod(0).memory != 64 {
		t.Errorf("made the steps %s; memcached has %dMi for items", got, c.simulatedPod(0).memory)
	}
	c.simulatedPod(0).refusesResize = ""
	c.run(20)
	c.expectDone()
}

// A pod gets requests from its limits, a template does not.
func TestRequestsFromLimitsAreNoChange(t *testing.T) {
	s := withoutWarmRestart()
	c := newCluster(t, 1, s)
	template := s.template()
	template.Labels["new"] = "yes"
	template.Spec.Containers[0].Resources.Requests = nil
	c.pod(0).Spec.Containers[0].Resources.Requests = c.pod(0).Spec.Containers[0].Resources.Limits
	c.wantTemplate(template)
	expect(t, c.next(), rollout.Patch, 0, "cache-0 is up to date now: labels (Live)")
}
