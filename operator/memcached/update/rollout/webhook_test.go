package rollout_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
	"github.com/example/memcached-operator/operator/memcached/update/rollout"
)

// rewritingImages returns a webhook that moves the images of containers to a mirror when pods are created and updated.
func rewritingImages(containers ...string) func(*corev1.Pod, bool) {
	return func(pod *corev1.Pod, _ bool) {
		for i := range pod.Spec.Containers {
			container := &pod.Spec.Containers[i]
			for _, name := range containers {
				if container.Name == name && !strings.HasPrefix(container.Image, mirror) {
					container.Image = mirror + container.Image
				}
			}
		}
	}
}

// onCreate returns a webhook that changes pods only when they are created.
func onCreate(edit func(pod *corev1.Pod, memcached *corev1.Container)) func(*corev1.Pod, bool) {
	return func(pod *corev1.Pod, update bool) {
		if !update {
			edit(pod, &pod.Spec.Containers[0])
		}
	}
}

// What a webhook or a person changed on a pod is no difference where both templates say the same. It is not reverted along with
// another change, and memcached keeps running.
func TestChangesByAWebhookAreKept(t *testing.T) {
	memory128 := func(s *templateOptions) { s.memory = 128 }
	limits := func(memcached *corev1.Container) *corev1.ResourceList { return &memcached.Resources.Limits }
	requests := func(memcached *corev1.Container) *corev1.ResourceList { return &memcached.Resources.Requests }
	for name, test := range map[string]struct {
		webhook func(*corev1.Pod, bool)
		begin   templateOptions
		change  func(*templateOptions)
		changes string // The changes in the message.
		steps   string // For each pod.
	}{
		"memcached's image":                    {rewritingImages("memcached"), withoutWarmRestart(), newAgent, "agentImage (Live)", "Patch, Patch"},
		"memcached's image, with warm restart": {rewritingImages("memcached"), withWarmRestart(), newAgent, "agentImage (Live)", "Patch, Patch"},
		"both images":                          {rewritingImages("memcached", "agent"), withoutWarmRestart(), newAgent, "agentImage (Live)", "Patch, Patch"},
		"the agent's image":                    {rewritingImages("agent"), withWarmRestart(), func(s *templateOptions) { s.labels = map[string]string{"a": "b"} }, "labels (Live)", "Patch"},
		"memcached's image, when resized": {rewritingImages("memcached"), withoutWarmRestart(), memory128, "arguments.cacheMemory (Live), resources.limits.memory (Live), " +
			"resources.requests.memory (Live)", "Patch, Resize, Patch, Patch"},
		"the CPU limit": {onCreate(func(_ *corev1.Pod, m *corev1.Container) { (*limits(m))["cpu"] = resource.MustParse("3") }),
			withoutWarmRestart(), newAgent, "agentImage (Live)", "Patch, Patch"},
		"the CPU limit is removed": {onCreate(func(_ *corev1.Pod, m *corev1.Container) { delete(*limits(m), "cpu") }),
			withoutWarmRestart(), newAgent, "agentImage (Live)", "Patch, Patch"},
		"the CPU request": {onCreate(func(_ *corev1.Pod, m *corev1.Container) { (*requests(m))["cpu"] = resource.MustParse("10m") }),
			withWarmRestart(), newAgent, "agentImage (Live)", "Patch, Patch"},
		"the memory limit": {onCreate(func(_ *corev1.Pod, m *corev1.Container) { (*limits(m))["memory"] = resource.MustParse("1Gi") }),
			withoutWarmRestart(), newAgent, "agentImage (Live)", "Patch, Patch"},
		"the CPU limit, when memory is resized": {onCreate(func(_ *corev1.Pod, m *corev1.Container) { (*limits(m))["cpu"] = resource.MustParse("3") }),
			withoutWarmRestart(), memory128, "arguments.cacheMemory (Live), resources.limits.memory (Live), resources.requests.memory (Live)",
			"Patch, Resize, Patch, Patch"},
		"labels and annotations": {onCreate(func(pod *corev1.Pod, _ *corev1.Container) {
			pod.Labels["app"], pod.Annotations[agentapi.CacheMemoryAnnotation] = "renamed", "32"
		}), withoutWarmRestart(), newAgent, "agentImage (Live)", "Patch, Patch"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClusterWithWebhook(t, 2, test.begin, test.webhook)
			uids, before := c.uids(), []*corev1.Pod{c.pod(0).DeepCopy(), c.pod(1).DeepCopy()}
			processes := fmt.Sprint(c.simulatedPod(0).process, c.simulatedPod(1).process)
			c.want(test.begin.with(test.change))
			if step := c.next(); step.Message != "cache-1 is changed in place: "+test.changes && step.Message != "cache-1 is up to date now: "+test.changes {
				t.Errorf("the step is %s: %s", step.Kind, step.Message)
			}
			want := strings.ReplaceAll(test.steps+",", ",", " 1,") + " " + strings.TrimSuffix(strings.ReplaceAll(test.steps+",", ",", " 0,"), ",")
			if got := summarise(c.run(60)); got != want {
				t.Errorf("made the steps %s, want %s", got, want)
			}
			expect(t, c.next(), rollout.None, -1, "")
			if c.uids() != uids || fmt.Sprint(c.simulatedPod(0).process, c.simulatedPod(1).process) != processes {
				t.Error("memcached was restarted")
			}
			for ordinal, old := range before {
				c.expectKept(ordinal, old, test.change)
			}
		})
	}
}

// expectKept checks that memcached still has everything it had except memory, and the pod its label.
func (c *cluster) expectKept(ordinal int, old *corev1.Pod, change func(*templateOptions)) {
	c.t.Helper()
	pod, changed := c.pod(ordinal), templateOptions{}
	change(&changed)
	now, before := pod.Spec.Containers[0], old.Spec.Containers[0]
	if now.Image != before.Image || !now.Resources.Limits.Cpu().Equal(*before.Resources.Limits.Cpu()) ||
		!now.Resources.Requests.Cpu().Equal(*before.Resources.Requests.Cpu()) {
		c.t.Errorf("%s had %+v, and has %+v", pod.Name, before, now)
	}
	if changed.memory == 0 && !now.Resources.Limits.Memory().Equal(*before.Resources.Limits.Memory()) {
		c.t.Errorf("%s had the limit %s, and has %s", pod.Name, before.Resources.Limits.Memory(), now.Resources.Limits.Memory())
	}
	if pod.Labels["app"] != old.Labels["app"] || changed.memory == 0 &&
		pod.Annotations[agentapi.CacheMemoryAnnotation] != old.Annotations[agentapi.CacheMemoryAnnotation] {
		c.t.Errorf("%s had %v and %v, and has %v and %v", pod.Name, old.Labels, old.Annotations, pod.Labels, pod.Annotations)
	}
	if changed.agent != "" && strings.TrimPrefix(c.simulated[pod.Name].images["agent"], mirror) != changed.agent {
		c.t.Errorf("%s runs %v", pod.Name, c.simulated[pod.Name].images)
	}
}

// versioned adds the annotation with the version of memcached.
func versioned(s templateOptions) templateOptions {
	return s.with(func(s *templateOptions) { s.annotations = map[string]string{pod.VersionAnnotation: s.version} })
}

// Where the templates differ, the pod is changed. A patch counts as made although a webhook rewrote it.
func TestAnUpgradeWithAMirror(t *testing.T) {
	c := newClusterWithWebhook(t, 2, versioned(withWarmRestart()), rewritingImages("memcached", "agent"))
	before, items := c.uids(), c.simulatedPod(0).items
	c.want(versioned(upgraded))
	step := c.next()
	expect(t, step, rollout.Patch, 1, "cache-1 is changed in place: image 1.6.18 -> 1.6.45 (Warm)")
	c.make(step)
	expect(t, c.next(), rollout.Wait, 1, "memcached in cache-1 is restarting")
	steps := c.run(60)
	if got := summarise(steps); got != "Patch 1, Patch 0, Patch 0" {
		t.Errorf("made the steps %s", got)
	}
	expect(t, steps[0], rollout.Patch, 1, "found its items again")
	expect(t, c.next(), rollout.None, -1, "")
	for ordinal := range 2 {
		if m := c.simulatedPod(ordinal); m.images["memcached"] != mirror+"memcached:1.6.45" || m.items < items {
			t.Errorf("%d runs %v with %d items", ordinal, m.images, m.items)
		}
		if version := c.pod(ordinal).Annotations[pod.VersionAnnotation]; version != "1.6.45" {
			t.Errorf("the annotation of %d says memcached %s", ordinal, version)
		}
	}
	if c.uids() != before {
		t.Error("a pod was replaced")
	}
}

// What a person changed before the template did is not changed again.
func TestAPodThatHasTheWantedImageAlready(t *testing.T) {
	c := newCluster(t, 1, versioned(withWarmRestart()))
	c.pod(0).Spec.Containers[0].Image = "memcached:1.6.45"
	c.pod(0).Generation++
	c.settle(5)
	process := c.simulatedPod(0).process
	c.want(versioned(upgraded))
	c.run(20)
	c.expectDone()
	if c.simulatedPod(0).process != process || c.pod(0).Annotations[pod.VersionAnnotation] != "1.6.45" {
		t.Errorf("memcached was restarted, or the pod has %v", c.pod(0).Annotations)
	}
}

// When the spec changes during an update, what a webhook changed still is no difference: neither before nor after the patch.
func TestASpecThatChangesDuringAnUpdateWithAWebhook(t *testing.T) {
	cpu := func(pod *corev1.Pod, update bool) {
		rewritingImages("memcached", "agent")(pod, update)
		if !update {
			pod.Spec.Containers[0].Resources.Limits["cpu"] = resource.MustParse("3")
		}
	}
	bad := withoutWarmRestart().with(func(s *templateOptions) { s.agent = "agent:bad" })
	large := withoutWarmRestart().with(func(s *templateOptions) { s.agent, s.memory = "agent:2", 4096 })
	for name, test := range map[string]struct {
		first templateOptions
		ticks int
		then  templateOptions
	}{
		"an agent that cannot be pulled is corrected": {bad, 8, withoutWarmRestart().with(newAgent)},
		"an agent that cannot be pulled is reverted":  {bad, 8, withoutWarmRestart()},
		"an agent that cannot be pulled, and memory":  {bad, 8, withoutWarmRestart().with(func(s *templateOptions) { s.agent, s.memory = "agent:2", 128 })},
		"a label follows the same image": {withoutWarmRestart().with(newAgent), 2,
			withoutWarmRestart().with(func(s *templateOptions) { s.agent, s.labels = "agent:2", map[string]string{"a": "b"} })},
		"a resize that is refused becomes smaller": {large, 8, withoutWarmRestart().with(func(s *templateOptions) { s.agent, s.memory = "agent:2", 128 })},
		"a resize that is refused is reverted":     {large, 8, withoutWarmRestart()},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClusterWithWebhook(t, 2, withoutWarmRestart(), cpu)
			uids, processes := c.uids(), fmt.Sprint(c.simulatedPod(0).process, c.simulatedPod(1).process)
			if test.first.memory > 1024 {
				c.simulatedPod(1).refusesResize = corev1.PodReasonInfeasible
			}
			c.want(test.first)
			c.run(test.ticks)
			c.simulatedPod(1).refusesResize = ""
			c.want(test.then)
			c.run(80)
			expect(t, c.next(), rollout.None, -1, "")
			if c.uids() != uids || fmt.Sprint(c.simulatedPod(0).process, c.simulatedPod(1).process) != processes {
				t.Error("memcached was restarted")
			}
			for ordinal := range 2 {
				pod, m := c.pod(ordinal), c.simulatedPod(ordinal)
				if m.images["agent"] != mirror+test.then.agent || m.memory != test.then.memory || m.limit != test.then.memory+test.then.spare ||
					pod.Spec.Containers[0].Resources.Limits.Cpu().Value() != 3 {
					t.Errorf("%s runs %v with %dMi in %dMi, and has %+v", pod.Name, m.images, m.memory, m.limit, pod.Spec.Containers[0].Resources)
				}
			}
		})
	}
}

// A change of the version annotation alone is made on running pods, too.
func TestTheUserSaysTheVersionLater(t *testing.T) {
	own := withWarmRestart().with(func(s *templateOptions) { s.version = "mine" })
	c := newCluster(t, 2, own)
	c.want(own.with(func(s *templateOptions) { s.annotations = map[string]string{pod.VersionAnnotation: "1.6.38"} }))
	expect(t, c.next(), rollout.Patch, 1, "cache-1 is up to date now: version (Live)")
	c.run(5)
	c.want(own.with(func(s *templateOptions) { s.annotations = map[string]string{pod.VersionAnnotation: "1.6.45"} }))
	expect(t, c.next(), rollout.Patch, 1, "cache-1 is up to date now: version 1.6.38 -> 1.6.45 (Live)")
	c.run(5)
	c.expectDone()
	if version := c.pod(0).Annotations[pod.VersionAnnotation]; version != "1.6.45" {
		t.Errorf("the annotation of the pod says memcached %s", version)
	}
}

// If it is unknown what a pod was given, what it has counts.
func TestAPodWithAnUnknownGivenRevision(t *testing.T) {
	c := newCluster(t, 1, withoutWarmRestart())
	pod := c.pod(0)
	pod.Annotations[rollout.UpdateAnnotation] = "yes"
	pod.Spec.Containers[1].Image = "agent:9"
	pod.Spec.Containers[0].Resources.Limits["cpu"] = resource.MustParse("3")
	pod.Generation++
	c.settle(5)
	expect(t, c.next(), rollout.Patch, 0, "cache-0 is changed in place: agentImage (Live), resources.limits.cpu (Live)")
	c.run(20)
	c.expectDone()
	if limit := pod.Spec.Containers[0].Resources.Limits.Cpu(); limit.Value() != 1 {
		t.Errorf("the CPU limit is %s", limit)
	}
}
