package rollout_test

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/memcached/update/rollout"
)

const (
	name  = "cache"
	image = "memcached:"

	// mirror is what a webhook puts before images.
	mirror = "mirror/"
)

// morning is when every test begins.
var morning = time.Date(2026, 5, 4, 8, 0, 0, 0, time.UTC)

// shape is what a pod template is made from.
type shape struct {
	version     string // Of memcached; "bad" cannot be pulled.
	agent       string // Image of the agent.
	memory      int64  // For items, in MiB.
	spare       int64  // What the memory limit has more than that, in MiB.
	connections int
	warm        bool
	labels      map[string]string
	annotations map[string]string
}

// normalised keeps no items over a restart, warm does.
func normalised() shape {
	return shape{version: "1.6.18", agent: "agent:1", memory: 64, spare: 64, connections: 1024}
}

func warm() shape {
	s := normalised()
	s.warm = true
	return s
}

// with returns a changed copy.
func (s shape) with(edit func(*shape)) shape {
	s.labels, s.annotations = maps.Clone(s.labels), maps.Clone(s.annotations)
	edit(&s)
	return s
}

func (s shape) template() corev1.PodTemplateSpec {
	arguments := []string{"-m", fmt.Sprint(s.memory), "-c", strconv.Itoa(s.connections)}
	annotations := maps.Clone(s.annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	if s.warm {
		arguments = append(arguments, "-e", "/cache/memory")
	} else {
		annotations[agentapi.CacheMemoryAnnotation] = fmt.Sprint(s.memory)
	}
	labels := map[string]string{"app": name}
	maps.Copy(labels, s.labels)
	limit := *resource.NewQuantity((s.memory+s.spare)<<20, resource.BinarySI)
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: annotations},
		Spec: corev1.PodSpec{Containers: []corev1.Container{
			{
				Name: "memcached", Image: image + s.version, Command: []string{"memcached"}, Args: arguments,
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: limit},
					Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: limit},
				},
			},
			{Name: "agent", Image: s.agent},
		}},
	}
	if s.agent == "" {
		template.Spec.Containers = template.Spec.Containers[:1]
	}
	return template
}

// version is what the operator knows of images: nothing of those in a mirror.
func version(of string) string {
	known := map[string]string{image + "1.6.18": "1.6.18", image + "1.6.38": "1.6.38", image + "1.6.45": "1.6.45", image + "bad": "1.6.45"}
	return known[of]
}

// world is a StatefulSet, its pods, and what plays the cluster.
type world struct {
	t         *testing.T
	set       *appsv1.StatefulSet
	revisions map[string]*appsv1.ControllerRevision
	pods      map[string]*corev1.Pod
	machines  map[string]*machine // By the name of the pod.
	gate      *rollout.Gate
	resize    bool
	webhook   func(pod *corev1.Pod, update bool) // Changes pods that are made, or updated.
	crippled  string                             // An image of the agent whose probe fails.
	now       time.Time
	counter   int64
}

// newWorld returns a StatefulSet with that many pods, all ready and of the template.
func newWorld(t *testing.T, size int32, s shape) *world {
	return newWorldWith(t, size, s, func(*corev1.Pod, bool) {})
}

func newWorldWith(t *testing.T, size int32, s shape, webhook func(*corev1.Pod, bool)) *world {
	w := &world{
		webhook: webhook,
		t:       t, revisions: map[string]*appsv1.ControllerRevision{}, pods: map[string]*corev1.Pod{}, machines: map[string]*machine{},
		resize: true, now: morning,
		set: &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: "set"},
			Spec:       appsv1.StatefulSetSpec{Replicas: ptr.To(size)},
		},
	}
	w.want(s)
	w.settle(20)
	return w
}

// want changes the template, and lets the StatefulSet controller see it.
func (w *world) want(s shape) {
	w.set.Spec.Template = s.template()
	w.set.Generation++
	w.seeTemplate()
}

func (w *world) seeTemplate() {
	raw, err := json.Marshal(map[string]any{"spec": map[string]any{"template": w.set.Spec.Template}})
	if err != nil {
		w.t.Fatal(err)
	}
	hash := fnv.New32a()
	_, _ = hash.Write(raw)
	revision := fmt.Sprintf("%s-%x", name, hash.Sum32())
	w.revisions[revision] = &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: revision}, Data: runtime.RawExtension{Raw: raw}}
	w.set.Status.UpdateRevision, w.set.Status.ObservedGeneration = revision, w.set.Generation
}

// situation returns what the operator sees, as copies.
func (w *world) situation() rollout.Input {
	s := rollout.Input{
		StatefulSet: w.set.DeepCopy(), States: map[string]*agentapi.State{}, Version: version, Gate: w.gate, Now: w.now,
	}
	s.Features.Resize, s.Features.Shrink = w.resize, w.resize
	for _, revision := range w.revisions {
		s.Revisions = append(s.Revisions, *revision.DeepCopy())
	}
	for name, pod := range w.pods {
		s.Pods = append(s.Pods, *pod.DeepCopy())
		s.States[name] = w.machines[name].state()
	}
	return s
}

// next decides on a step, without making it.
func (w *world) next() rollout.Step {
	w.t.Helper()
	step, err := rollout.Next(w.situation())
	if err != nil {
		w.t.Fatal(err)
	}
	return step
}

func (w *world) pod(slot int) *corev1.Pod {
	w.t.Helper()
	pod := w.pods[fmt.Sprintf("%s-%d", name, slot)]
	if pod == nil {
		w.t.Fatalf("there is no pod %d", slot)
	}
	return pod
}

func (w *world) machine(slot int) *machine { return w.machines[w.pod(slot).Name] }

// unready makes a pod not ready since some time ago, because of memcached.
func (w *world) unready(slot int, since time.Duration) {
	w.machine(slot).sick = true
	statusOf(w.pod(slot), "memcached").Ready = false
	setReady(w.pod(slot), false, w.now.Add(-since))
}

// limp makes a pod not ready since some time ago, because of its agent, which cannot be reached either.
func (w *world) limp(slot int, since time.Duration) {
	w.machine(slot).lame = true
	statusOf(w.pod(slot), "agent").Ready = false
	setReady(w.pod(slot), false, w.now.Add(-since))
}
