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

// mirrored puts the images of containers into a mirror, when pods are made and when they are updated.
func mirrored(containers ...string) func(*corev1.Pod, bool) {
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

// made changes pods when they are made only.
func made(edit func(pod *corev1.Pod, memcached *corev1.Container)) func(*corev1.Pod, bool) {
	return func(pod *corev1.Pod, update bool) {
		if !update {
			edit(pod, &pod.Spec.Containers[0])
		}
	}
}

func newAgent(s *shape) { s.agent = "agent:2" }

// What a webhook made of a pod, or a person, is no difference where both templates say the same. So it is not taken back
// along with a change of something else, and memcached goes on.
func TestWhatAWebhookMadeOfAPodStays(t *testing.T) {
	moreMemory := func(s *shape) { s.memory = 128 }
	limits := func(memcached *corev1.Container) *corev1.ResourceList { return &memcached.Resources.Limits }
	requests := func(memcached *corev1.Container) *corev1.ResourceList { return &memcached.Resources.Requests }
	for name, test := range map[string]struct {
		webhook func(*corev1.Pod, bool)
		begin   shape
		change  func(*shape)
		why     string // All that is said to change.
		steps   string // Of each pod.
	}{
		"memcached's image":                    {mirrored("memcached"), normalised(), newAgent, "agentImage (Live)", "Patch, Patch"},
		"memcached's image, with warm restart": {mirrored("memcached"), warm(), newAgent, "agentImage (Live)", "Patch, Patch"},
		"both images":                          {mirrored("memcached", "agent"), normalised(), newAgent, "agentImage (Live)", "Patch, Patch"},
		"the agent's image":                    {mirrored("agent"), warm(), func(s *shape) { s.labels = map[string]string{"a": "b"} }, "labels (Live)", "Patch"},
		"memcached's image, when resized": {mirrored("memcached"), normalised(), moreMemory, "arguments.cacheMemory (Live), resources.limits.memory (Live), " +
			"resources.requests.memory (Live)", "Patch, Resize, Patch, Patch"},
		"the CPU limit": {made(func(_ *corev1.Pod, m *corev1.Container) { (*limits(m))["cpu"] = resource.MustParse("3") }),
			normalised(), newAgent, "agentImage (Live)", "Patch, Patch"},
		"a CPU limit less": {made(func(_ *corev1.Pod, m *corev1.Container) { delete(*limits(m), "cpu") }),
			normalised(), newAgent, "agentImage (Live)", "Patch, Patch"},
		"the CPU request": {made(func(_ *corev1.Pod, m *corev1.Container) { (*requests(m))["cpu"] = resource.MustParse("10m") }),
			warm(), newAgent, "agentImage (Live)", "Patch, Patch"},
		"the memory limit": {made(func(_ *corev1.Pod, m *corev1.Container) { (*limits(m))["memory"] = resource.MustParse("1Gi") }),
			normalised(), newAgent, "agentImage (Live)", "Patch, Patch"},
		"the CPU limit, when memory is resized": {made(func(_ *corev1.Pod, m *corev1.Container) { (*limits(m))["cpu"] = resource.MustParse("3") }),
			normalised(), moreMemory, "arguments.cacheMemory (Live), resources.limits.memory (Live), resources.requests.memory (Live)",
			"Patch, Resize, Patch, Patch"},
		"labels and annotations": {made(func(pod *corev1.Pod, _ *corev1.Container) {
			pod.Labels["app"], pod.Annotations[agentapi.CacheMemoryAnnotation] = "renamed", "32"
		}), normalised(), newAgent, "agentImage (Live)", "Patch, Patch"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorldWith(t, 2, test.begin, test.webhook)
			uids, before := w.uids(), []*corev1.Pod{w.pod(0).DeepCopy(), w.pod(1).DeepCopy()}
			processes := fmt.Sprint(w.machine(0).process, w.machine(1).process)
			w.want(test.begin.with(test.change))
			if step := w.next(); step.Message != "cache-1 is changed in place: "+test.why && step.Message != "cache-1 has the template now: "+test.why {
				t.Errorf("the step is %s: %s", step.Kind, step.Message)
			}
			want := strings.ReplaceAll(test.steps+",", ",", " 1,") + " " + strings.TrimSuffix(strings.ReplaceAll(test.steps+",", ",", " 0,"), ",")
			if got := kinds(w.run(60)); got != want {
				t.Errorf("made the steps %s, want %s", got, want)
			}
			expect(t, w.next(), rollout.None, -1, "")
			if w.uids() != uids || fmt.Sprint(w.machine(0).process, w.machine(1).process) != processes {
				t.Error("memcached was restarted")
			}
			for slot, old := range before {
				w.expectKept(slot, old, test.change)
			}
		})
	}
}

// expectKept checks that memcached has what it had of everything but memory, and the pod its label.
func (w *world) expectKept(slot int, old *corev1.Pod, change func(*shape)) {
	w.t.Helper()
	pod, changed := w.pod(slot), shape{}
	change(&changed)
	now, before := pod.Spec.Containers[0], old.Spec.Containers[0]
	if now.Image != before.Image || !now.Resources.Limits.Cpu().Equal(*before.Resources.Limits.Cpu()) ||
		!now.Resources.Requests.Cpu().Equal(*before.Resources.Requests.Cpu()) {
		w.t.Errorf("%s had %+v, and has %+v", pod.Name, before, now)
	}
	if changed.memory == 0 && !now.Resources.Limits.Memory().Equal(*before.Resources.Limits.Memory()) {
		w.t.Errorf("%s had the limit %s, and has %s", pod.Name, before.Resources.Limits.Memory(), now.Resources.Limits.Memory())
	}
	if pod.Labels["app"] != old.Labels["app"] || changed.memory == 0 &&
		pod.Annotations[agentapi.CacheMemoryAnnotation] != old.Annotations[agentapi.CacheMemoryAnnotation] {
		w.t.Errorf("%s had %v and %v, and has %v and %v", pod.Name, old.Labels, old.Annotations, pod.Labels, pod.Annotations)
	}
	if changed.agent != "" && strings.TrimPrefix(w.machines[pod.Name].images["agent"], mirror) != changed.agent {
		w.t.Errorf("%s runs %v", pod.Name, w.machines[pod.Name].images)
	}
}

// versioned says in the template which memcached is in the image.
func versioned(s shape) shape {
	return s.with(func(s *shape) { s.annotations = map[string]string{pod.VersionAnnotation: s.version} })
}

// Where the templates differ, what the pod has is changed, and what was patched counts although a webhook rewrote it.
func TestAnUpgradeBehindAMirror(t *testing.T) {
	w := newWorldWith(t, 2, versioned(warm()), mirrored("memcached", "agent"))
	before, items := w.uids(), w.machine(0).items
	w.want(versioned(upgraded))
	step := w.next()
	expect(t, step, rollout.Patch, 1, "cache-1 is changed in place: image 1.6.18 -> 1.6.45 (Warm)")
	w.make(step)
	expect(t, w.next(), rollout.Wait, 1, "memcached in cache-1 restarts")
	steps := w.run(60)
	if got := kinds(steps); got != "Patch 1, Patch 0, Patch 0" {
		t.Errorf("made the steps %s", got)
	}
	expect(t, steps[0], rollout.Patch, 1, "found its items again")
	expect(t, w.next(), rollout.None, -1, "")
	for slot := range 2 {
		if m := w.machine(slot); m.images["memcached"] != mirror+"memcached:1.6.45" || m.items < items {
			t.Errorf("%d runs %v with %d items", slot, m.images, m.items)
		}
		if version := w.pod(slot).Annotations[pod.VersionAnnotation]; version != "1.6.45" {
			t.Errorf("%d says that it has memcached %s", slot, version)
		}
	}
	if w.uids() != before {
		t.Error("a pod was replaced")
	}
}

// What a person changed ahead of the template is not changed again.
func TestWhatThePodHasAlready(t *testing.T) {
	w := newWorld(t, 1, versioned(warm()))
	w.pod(0).Spec.Containers[0].Image = "memcached:1.6.45"
	w.pod(0).Generation++
	w.settle(5)
	process := w.machine(0).process
	w.want(versioned(upgraded))
	w.run(20)
	w.expectDone()
	if w.machine(0).process != process || w.pod(0).Annotations[pod.VersionAnnotation] != "1.6.45" {
		t.Errorf("memcached was restarted, or the pod has %v", w.pod(0).Annotations)
	}
}

// A spec that changes on the way does not make a difference of what a webhook did: neither before nor during the patch.
func TestASpecThatChangesOnTheWayBehindAWebhook(t *testing.T) {
	cpu := func(pod *corev1.Pod, update bool) {
		mirrored("memcached", "agent")(pod, update)
		if !update {
			pod.Spec.Containers[0].Resources.Limits["cpu"] = resource.MustParse("3")
		}
	}
	bad := normalised().with(func(s *shape) { s.agent = "agent:bad" })
	large := normalised().with(func(s *shape) { s.agent, s.memory = "agent:2", 4096 })
	for name, test := range map[string]struct {
		first shape
		turns int
		then  shape
	}{
		"an agent that cannot be pulled is mended":   {bad, 8, normalised().with(newAgent)},
		"an agent that cannot be pulled is reverted": {bad, 8, normalised()},
		"an agent that cannot be pulled, and memory": {bad, 8, normalised().with(func(s *shape) { s.agent, s.memory = "agent:2", 128 })},
		"a label follows the same image": {normalised().with(newAgent), 2,
			normalised().with(func(s *shape) { s.agent, s.labels = "agent:2", map[string]string{"a": "b"} })},
		"a resize that is refused is made less": {large, 8, normalised().with(func(s *shape) { s.agent, s.memory = "agent:2", 128 })},
		"a resize that is refused is reverted":  {large, 8, normalised()},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorldWith(t, 2, normalised(), cpu)
			uids, processes := w.uids(), fmt.Sprint(w.machine(0).process, w.machine(1).process)
			if test.first.memory > 1024 {
				w.machine(1).refuses = corev1.PodReasonInfeasible
			}
			w.want(test.first)
			w.run(test.turns)
			w.machine(1).refuses = ""
			w.want(test.then)
			w.run(80)
			expect(t, w.next(), rollout.None, -1, "")
			if w.uids() != uids || fmt.Sprint(w.machine(0).process, w.machine(1).process) != processes {
				t.Error("memcached was restarted")
			}
			for slot := range 2 {
				pod, m := w.pod(slot), w.machine(slot)
				if m.images["agent"] != mirror+test.then.agent || m.memory != test.then.memory || m.limit != test.then.memory+test.then.spare ||
					pod.Spec.Containers[0].Resources.Limits.Cpu().Value() != 3 {
					t.Errorf("%s runs %v with %dMi in %dMi, and has %+v", pod.Name, m.images, m.memory, m.limit, pod.Spec.Containers[0].Resources)
				}
			}
		})
	}
}

// The version alone is told to running pods, too.
func TestAVersionThatIsNamedLater(t *testing.T) {
	own := warm().with(func(s *shape) { s.version = "mine" })
	w := newWorld(t, 2, own)
	w.want(own.with(func(s *shape) { s.annotations = map[string]string{pod.VersionAnnotation: "1.6.38"} }))
	expect(t, w.next(), rollout.Patch, 1, "cache-1 has the template now: version (Live)")
	w.run(5)
	w.want(own.with(func(s *shape) { s.annotations = map[string]string{pod.VersionAnnotation: "1.6.45"} }))
	expect(t, w.next(), rollout.Patch, 1, "cache-1 has the template now: version 1.6.38 -> 1.6.45 (Live)")
	w.run(5)
	w.expectDone()
	if version := w.pod(0).Annotations[pod.VersionAnnotation]; version != "1.6.45" {
		t.Errorf("the pod says that it has memcached %s", version)
	}
}

// Where nothing tells what a pod was given, what it has itself counts.
func TestAPodOfWhichNothingIsKnown(t *testing.T) {
	w := newWorld(t, 1, normalised())
	pod := w.pod(0)
	pod.Annotations[rollout.UpdateAnnotation] = "yes"
	pod.Spec.Containers[1].Image = "agent:9"
	pod.Spec.Containers[0].Resources.Limits["cpu"] = resource.MustParse("3")
	pod.Generation++
	w.settle(5)
	expect(t, w.next(), rollout.Patch, 0, "cache-0 is changed in place: agentImage (Live), resources.limits.cpu (Live)")
	w.run(20)
	w.expectDone()
	if limit := pod.Spec.Containers[0].Resources.Limits.Cpu(); limit.Value() != 1 {
		t.Errorf("the CPU limit is %s", limit)
	}
}
