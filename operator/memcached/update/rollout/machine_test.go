package rollout_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
)

// machine plays the kubelet, memcached and the agent of one pod.
type machine struct {
	images  map[string]string // That the containers run; none for one that does not.
	seen    int64             // The generation that the kubelet acts on.
	limit   int64             // Of memory, in MiB, that holds now.
	sick    bool              // memcached does not become ready.
	lame    bool              // The agent does not become ready, and cannot be reached.
	mute    bool              // The agent cannot be reached.
	problem string            // What the agent says is not right.
	refuses string            // Reason for which it does not resize.

	items, saved int64 // In memory, and in the volume.
	saver        string
	memory       int64
	allocated    int64 // It is full: as much as memory, or more for a while.
	warm         bool
	process      int64
	hitRatio     *float64

	ours bool // It is not ready because of the operator.
	down bool // memcached is not ready because of the operator.
}

func (m *machine) state() *agentapi.State {
	if m == nil || m.mute || m.lame || m.images["agent"] == "" || m.images["memcached"] == "" {
		return nil
	}
	return &agentapi.State{Process: m.process, Warm: m.warm, Items: m.items, CacheMemory: max(m.memory, m.allocated), Problem: m.problem, HitRatio: m.hitRatio}
}

// settle lets the cluster do all it can without the operator.
func (w *world) settle(turns int) {
	for range turns {
		w.turn(func() bool { return true })
	}
}

// turn lets five seconds pass. Each part of the cluster does its next thing if it likes to.
func (w *world) turn(likes func() bool) {
	w.now = w.now.Add(5 * time.Second)
	for slot := range *w.set.Spec.Replicas {
		pod := fmt.Sprintf("%s-%d", name, slot)
		if w.pods[pod] == nil && likes() {
			w.create(pod)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		if likes() {
			w.kubelet(w.pods[name], w.machines[name])
		}
	}
}

func (w *world) create(podName string) {
	w.counter++
	template := w.set.Spec.Template.DeepCopy()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: podName, Namespace: "default", UID: types.UID(fmt.Sprint("pod-", w.counter)), Generation: 1,
		Labels: template.Labels, Annotations: template.Annotations, CreationTimestamp: metav1.NewTime(w.now),
	}, Spec: template.Spec}
	pod.Labels[appsv1.ControllerRevisionHashLabelKey] = w.set.Status.UpdateRevision
	pod.Labels["statefulset.kubernetes.io/pod-name"] = podName
	pod.Status.Phase = corev1.PodPending
	w.webhook(pod, false)
	m := &machine{images: map[string]string{}}
	if before := w.machines[podName]; before != nil {
		m.ours, m.down = before.ours, before.down
	}
	w.machines[podName] = m
	w.pods[podName] = pod
	w.changed(pod)
}

func (w *world) changed(pod *corev1.Pod) {
	w.counter++
	pod.ResourceVersion = fmt.Sprint(w.counter)
}

func argument(pod *corev1.Pod, option string) string {
	args := pod.Spec.Containers[0].Args
	if i := slices.Index(args, option); i >= 0 {
		return args[i+1]
	}
	return ""
}

// kubelet does the one next thing for a pod.
func (w *world) kubelet(pod *corev1.Pod, m *machine) {
	before := pod.DeepCopy()
	defer func() {
		if !equality.Semantic.DeepEqual(before, pod) {
			w.changed(pod)
		}
	}()
	switch {
	case pod.DeletionTimestamp != nil:
		delete(w.pods, pod.Name)
	case pod.Status.Phase == corev1.PodPending && len(m.images) == 0 && m.seen == 0:
		m.seen, m.limit = pod.Generation, limitOf(pod)
		pod.Status.ObservedGeneration = m.seen
	case m.seen < pod.Generation:
		m.seen = pod.Generation
		pod.Status.ObservedGeneration = m.seen
	case w.stopOne(pod, m), w.startOne(pod, m), w.resizeOne(pod, m), w.agentOne(pod, m):
	default:
		w.probe(pod, m)
	}
}

// probe tells what is ready.
func (w *world) probe(pod *corev1.Pod, m *machine) {
	memcached, agent := m.images["memcached"] != "" && !m.sick, m.images["agent"] != "" && !m.lame
	statusOf(pod, "memcached").Ready, statusOf(pod, "agent").Ready = memcached, agent
	setReady(pod, memcached && agent, w.now)
	m.ours, m.down = m.ours && (!memcached || !agent), m.down && !memcached
	if memcached {
		m.items += 100
	}
}

// stopOne stops a container with another image than wanted.
func (w *world) stopOne(pod *corev1.Pod, m *machine) bool {
	for _, container := range pod.Spec.Containers {
		if runs := m.images[container.Name]; runs != "" && runs != container.Image {
			w.stop(pod, m, container.Name, true)
			return true
		}
	}
	return false
}

func (w *world) stop(pod *corev1.Pod, m *machine, container string, saves bool) {
	if container == "memcached" {
		m.saved, m.saver = 0, ""
		if saves && argument(pod, "-e") != "" {
			m.saved, m.saver = m.items, version(strings.TrimPrefix(m.images[container], mirror))
		}
		m.items = 0
	}
	delete(m.images, container)
	setReady(pod, false, w.now)
	status := statusOf(pod, container)
	status.Ready = false
	status.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ContainerID: status.ContainerID, FinishedAt: metav1.NewTime(w.now)}}
}

// startOne starts a container that does not run.
func (w *world) startOne(pod *corev1.Pod, m *machine) bool {
	for _, container := range pod.Spec.Containers {
		status := statusOf(pod, container.Name)
		if m.images[container.Name] != "" {
			continue
		}
		if strings.HasSuffix(container.Image, "bad") {
			if status.State.Waiting != nil {
				continue
			}
			status.LastTerminationState = status.State
			status.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}
			return true
		}
		if status.ContainerID != "" {
			status.RestartCount++
		}
		w.counter++
		status.ContainerID = fmt.Sprint("c", w.counter)
		status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(w.now)}}
		m.images[container.Name] = container.Image
		if container.Name == "memcached" {
			w.startMemcached(pod, m)
		} else if w.crippled != "" {
			m.lame = container.Image == w.crippled
		}
		if len(m.images) == len(pod.Spec.Containers) {
			pod.Status.Phase = corev1.PodRunning
		}
		return true
	}
	return false
}

func (w *world) startMemcached(pod *corev1.Pod, m *machine) {
	running := version(strings.TrimPrefix(m.images["memcached"], mirror))
	m.warm = m.saved > 0 && (running >= m.saver || running >= "1.6.38")
	m.items = 0
	if m.warm {
		m.items = m.saved
	}
	m.memory, _ = strconv.ParseInt(argument(pod, "-m"), 10, 64)
	m.allocated = m.memory
	w.counter++
	m.process = w.counter
	resources := pod.Spec.Containers[0].Resources
	statusOf(pod, "memcached").Resources = &resources
}

func limitOf(pod *corev1.Pod) int64 {
	return pod.Spec.Containers[0].Resources.Limits.Memory().Value() >> 20
}

// resizeOne makes the next step of a resize.
func (w *world) resizeOne(pod *corev1.Pod, m *machine) bool {
	i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodResizeInProgress || c.Type == corev1.PodResizePending
	})
	switch {
	case m.limit == limitOf(pod):
		if i >= 0 {
			pod.Status.Conditions = slices.Delete(pod.Status.Conditions, i, i+1)
		}
		return i >= 0
	case m.refuses != "":
		if i < 0 {
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
				Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: m.refuses, Message: "no room"})
		}
		return i < 0
	case i < 0:
		pod.Status.Conditions = append(pod.Status.Conditions,
			corev1.PodCondition{Type: corev1.PodResizeInProgress, Status: corev1.ConditionTrue})
		return true
	}
	pod.Status.Conditions = slices.Delete(pod.Status.Conditions, i, i+1)
	m.limit = limitOf(pod)
	resources := *pod.Spec.Containers[0].Resources.DeepCopy()
	statusOf(pod, "memcached").Resources = &resources
	return true
}

// agentOne takes over the memory that the annotation says.
func (w *world) agentOne(pod *corev1.Pod, m *machine) bool {
	memory, err := strconv.ParseInt(pod.Annotations[agentapi.CacheMemoryAnnotation], 10, 64)
	switch {
	case err != nil || argument(pod, "-e") != "" || m.state() == nil:
		return false
	case m.memory != memory:
		m.memory = memory
		m.allocated = max(m.allocated, memory)
		return true
	case m.allocated > memory:
		m.allocated = max(m.allocated-60, memory)
		return true
	}
	return false
}
