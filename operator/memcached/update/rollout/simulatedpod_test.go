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

// simulatedPod simulates the kubelet, memcached and the agent of one pod.
type simulatedPod struct {
	images           map[string]string // By container; none for a container that does not run.
	seen             int64             // The generation that the kubelet acts on.
	limit            int64             // The present memory limit, in MiB.
	memcachedBroken  bool              // memcached does not become ready.
	agentBroken      bool              // The agent does not become ready, and cannot be reached.
	agentUnreachable bool              // The agent cannot be reached.
	problem          string            // That the agent reports.
	refusesResize    string            // The reason why the kubelet refuses to resize.

	items, saved int64  // In memory, and in the volume.
	savedBy      string // The version that saved them.
	memory       int64
	hashBytes    int64
	allocated    int64 // memcached is full, so this is as much as memory, or more for a while.
	warm         bool
	process      int64
	run          string
	hitRatio     *float64

	unreadyByOperator bool // The pod is unready because of the operator.
	downByOperator    bool // memcached is unready because of the operator.
}

func (m *simulatedPod) state() *agentapi.State {
	if m == nil || m.agentUnreachable || m.agentBroken || m.images["agent"] == "" || m.images["memcached"] == "" {
		return nil
	}
	return &agentapi.State{Process: m.process, Run: m.run, HashBytes: m.hashBytes, Warm: m.warm, Items: m.items, CacheMemory: max(m.memory, m.allocated), Problem: m.problem, HitRatio: m.hitRatio}
}

// settle lets time pass without the operator.
func (c *cluster) settle(ticks int) {
	for range ticks {
		c.tick(func() bool { return true })
	}
}

// tick lets five seconds pass. Each part of the cluster that acts does one thing.
func (c *cluster) tick(acts func() bool) {
	c.now = c.now.Add(5 * time.Second)
	for ordinal := range *c.set.Spec.Replicas {
		pod := fmt.Sprintf("%s-%d", name, ordinal)
		if c.pods[pod] == nil && acts() {
			c.create(pod)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.pods)) {
		if acts() {
			c.kubelet(c.pods[name], c.simulated[name])
		}
	}
}

func (c *cluster) create(podName string) {
	c.counter++
	template := c.set.Spec.Template.DeepCopy()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: podName, Namespace: "default", UID: types.UID(fmt.Sprint("pod-", c.counter)), Generation: 1,
		Labels: template.Labels, Annotations: template.Annotations, CreationTimestamp: metav1.NewTime(c.now),
	}, Spec: template.Spec}
	pod.Labels[appsv1.ControllerRevisionHashLabelKey] = c.set.Status.UpdateRevision
	pod.Labels["statefulset.kubernetes.io/pod-name"] = podName
	pod.Status.Phase = corev1.PodPending
	c.webhook(pod, false)
	m := &simulatedPod{images: map[string]string{}}
	if before := c.simulated[podName]; before != nil {
		m.unreadyByOperator, m.downByOperator = before.unreadyByOperator, before.downByOperator
	}
	c.simulated[podName] = m
	c.pods[podName] = pod
	c.changed(pod)
}

func (c *cluster) changed(pod *corev1.Pod) {
	c.counter++
	pod.ResourceVersion = fmt.Sprint(c.counter)
}

func argument(pod *corev1.Pod, option string) string {
	args := pod.Spec.Containers[0].Args
	if i := slices.Index(args, option); i >= 0 {
		return args[i+1]
	}
	return ""
}

// kubelet does one thing for a pod.
func (c *cluster) kubelet(pod *corev1.Pod, m *simulatedPod) {
	before := pod.DeepCopy()
	defer func() {
		if !equality.Semantic.DeepEqual(before, pod) {
			c.changed(pod)
		}
	}()
	switch {
	case pod.DeletionTimestamp != nil:
		delete(c.pods, pod.Name)
	case pod.Status.Phase == corev1.PodPending && len(m.images) == 0 && m.seen == 0:
		m.seen, m.limit = pod.Generation, limitOf(pod)
		pod.Status.ObservedGeneration = m.seen
	case m.seen < pod.Generation:
		m.seen = pod.Generation
		pod.Status.ObservedGeneration = m.seen
	case c.stopNext(pod, m), c.startNext(pod, m), c.stepResize(pod, m), c.stepAgent(pod, m):
	default:
		c.probe(pod, m)
	}
}

// probe sets the readiness of the containers and of the pod.
func (c *cluster) probe(pod *corev1.Pod, m *simulatedPod) {
	memcached, agent := m.images["memcached"] != "" && !m.memcachedBroken, m.images["agent"] != "" && !m.agentBroken
	statusOf(pod, "memcached").Ready, statusOf(pod, "agent").Ready = memcached, agent
	setReady(pod, memcached && agent, c.now)
	m.unreadyByOperator, m.downByOperator = m.unreadyByOperator && (!memcached || !agent), m.downByOperator && !memcached
	if memcached {
		m.items += 100
	}
}

// stopNext stops a container whose image has changed.
func (c *cluster) stopNext(pod *corev1.Pod, m *simulatedPod) bool {
	for _, container := range pod.Spec.Containers {
		if runs := m.images[container.Name]; runs != "" && runs != container.Image {
			c.stop(pod, m, container.Name, true)
			return true
		}
	}
	return false
}

func (c *cluster) stop(pod *corev1.Pod, m *simulatedPod, container string, saves bool) {
	if container == "memcached" {
		m.saved, m.savedBy = 0, ""
		if saves && argument(pod, "-e") != "" {
			m.saved, m.savedBy = m.items, version(strings.TrimPrefix(m.images[container], mirror))
		}
		m.items = 0
	}
	delete(m.images, container)
	setReady(pod, false, c.now)
	status := statusOf(pod, container)
	status.Ready = false
	status.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ContainerID: status.ContainerID, FinishedAt: metav1.NewTime(c.now)}}
}

// startNext starts a container that does not run.
func (c *cluster) startNext(pod *corev1.Pod, m *simulatedPod) bool {
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
		c.counter++
		status.ContainerID = fmt.Sprint("c", c.counter)
		status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(c.now)}}
		m.images[container.Name] = container.Image
		if container.Name == "memcached" {
			c.startMemcached(pod, m)
		} else if c.brokenAgentImage != "" {
			m.agentBroken = container.Image == c.brokenAgentImage
		}
		if len(m.images) == len(pod.Spec.Containers) {
			pod.Status.Phase = corev1.PodRunning
		}
		return true
	}
	return false
}

func (c *cluster) startMemcached(pod *corev1.Pod, m *simulatedPod) {
	running := version(strings.TrimPrefix(m.images["memcached"], mirror))
	m.warm = m.saved > 0 && (running >= m.savedBy || running >= "1.6.38")
	m.items = 0
	if m.warm {
		m.items = m.saved
	}
	m.memory, _ = strconv.ParseInt(argument(pod, "-m"), 10, 64)
	m.allocated = m.memory
	c.counter++
	m.process, m.run = c.counter, fmt.Sprint("run-", c.counter)
	resources := pod.Spec.Containers[0].Resources
	statusOf(pod, "memcached").Resources = &resources
}

func limitOf(pod *corev1.Pod) int64 {
	return pod.Spec.Containers[0].Resources.Limits.Memory().Value() >> 20
}

// stepResize makes the next step of a resize.
func (c *cluster) stepResize(pod *corev1.Pod, m *simulatedPod) bool {
	i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodResizeInProgress || c.Type == corev1.PodResizePending
	})
	switch {
	case m.limit == limitOf(pod):
		if i >= 0 {
			pod.Status.Conditions = slices.Delete(pod.Status.Conditions, i, i+1)
		}
		return i >= 0
	case m.refusesResize != "":
		if i < 0 {
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
				Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: m.refusesResize, Message: "no room"})
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

// stepAgent brings memcached closer to the memory for items in the annotation.
func (c *cluster) stepAgent(pod *corev1.Pod, m *simulatedPod) bool {
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
