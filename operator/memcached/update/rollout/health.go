package rollout

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/operator/kube/pods"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
)

const (
	// brokenAfter is how long a running pod may be unready before it counts as broken or degraded. A pod that is only overloaded
	// becomes ready again earlier.
	brokenAfter = time.Minute

	// silentAfter is how long an agent may not answer before a restart that waits for it counts as stuck.
	silentAfter = time.Minute

	// unschedulableAfter is how long the scheduler may find no node for a pod before that counts as stuck. A pod that has to give way
	// may still be ending.
	unschedulableAfter = time.Minute

	// stuckAfter is how long a wait may take before it counts as stuck: the default progress deadline of a Deployment.
	stuckAfter = 10 * time.Minute
)

// settledAfter is how long after the start of a container the kubelet has certainly made its first probes, and reports what they say.
const settledAfter = 5 * time.Second

// mayTurnUnready reports whether the kubelet may take back that a pod is ready, because a container has just restarted. It was seen to
// report the new container of a fast restart together with a pod that is ready as before, and a moment later that it is not. On a busy
// node it also probed the new container, reported the pod as ready, and one to two seconds later as not ready for up to a second, until
// it had probed again. memcached serves meanwhile, so the latter matters only to clients of a Service, which leaves out the pod. If the
// clock of the node is ahead, nobody waits until that of the operator has caught up.
func (p *planner) mayTurnUnready(m *member) bool {
	for name := range m.update.Restarts {
		running := m.container(name).State.Running
		if running == nil {
			continue
		}
		runs := p.Now.Sub(running.StartedAt.Time)
		if runs < settledAfter && (p.Service && runs >= 0 || pods.ReadinessSince(m.pod).Before(running.StartedAt.Time)) {
			return true
		}
	}
	return false
}

// failure returns what keeps the pod from becoming ready, empty if nothing is known.
func (m *member) failure() string {
	if failure := m.failureToServe(); failure != "" {
		return failure
	}
	return m.failureOf(m.pod.Spec.Containers)
}

// brieflyUnschedulable reports whether the scheduler has found no node for the pod, but only since a moment ago.
func (m *member) brieflyUnschedulable(now time.Time) bool {
	_, unschedulable := pods.Unschedulable(m.pod)
	return unschedulable && now.Sub(pods.Condition(m.pod, corev1.PodScheduled).LastTransitionTime.Time) < unschedulableAfter
}

// failureToServe returns what keeps memcached from serving clients, empty if nothing is known.
func (m *member) failureToServe() string {
	if why, unschedulable := pods.Unschedulable(m.pod); unschedulable {
		return "it cannot be scheduled: " + why
	}
	containers := slices.Clone(m.pod.Spec.InitContainers)
	if memcached := pods.Container(m.pod.Spec.Containers, pod.MemcachedContainer); memcached != nil {
		containers = append(containers, *memcached)
	}
	return m.failureOf(containers)
}

// failureOf returns why the first container that cannot start does not, empty if all can.
func (m *member) failureOf(containers []corev1.Container) string {
	for _, container := range containers {
		status := m.container(container.Name)
		if failure := pods.StartFailure(container, status); failure != "" {
			return failure
		}
		if status.State.Waiting == nil || status.State.Waiting.Reason != "CrashLoopBackOff" {
			continue
		}
		if slices.Contains(m.unfinishedRestarts(), container.Name) {
			return fmt.Sprintf("container %s has not been started with image %q yet (CrashLoopBackOff)", container.Name, container.Image)
		}
		return fmt.Sprintf("with image %q, container %s keeps exiting (CrashLoopBackOff)", container.Image, container.Name)
	}
	return ""
}

// serves reports whether memcached is ready. The pod may still be unready: its agent has a probe of its own.
func (m *member) serves() bool {
	memcached := m.container(pod.MemcachedContainer)
	return m.ready() || memcached.Ready && memcached.State.Running != nil
}

// broken reports whether the pod serves no clients and is not about to.
func (m *member) broken(now time.Time) bool {
	return !m.serves() && (m.failureToServe() != "" || now.Sub(m.notServingSince()) >= brokenAfter && !m.starting(now))
}

// starting reports whether memcached runs and may still take its time to start: to find millions of items again. The kubelet
// restarts it when its startup probe has failed too often.
func (m *member) starting(now time.Time) bool {
	status, memcached := m.container(pod.MemcachedContainer), pods.Container(m.pod.Spec.Containers, pod.MemcachedContainer)
	if status.State.Running == nil || ptr.Deref(status.Started, true) || memcached == nil || memcached.StartupProbe == nil {
		return false
	}
	probe := memcached.StartupProbe
	budget := time.Duration(probe.InitialDelaySeconds+probe.PeriodSeconds*probe.FailureThreshold) * time.Second
	return now.Sub(status.State.Running.StartedAt.Time) < budget
}

// idle reports whether the pod has no items to lose and serves no clients.
func (m *member) idle(now time.Time) bool { return m.empty() || m.broken(now) }

// degraded reports whether memcached serves clients, but the pod is not ready and not about to be.
func (m *member) degraded(now time.Time) bool {
	return m.serves() && !m.ready() && (m.failure() != "" || now.Sub(pods.ReadinessSince(m.pod)) >= brokenAfter)
}

// notServingSince returns the time since which memcached may not have served clients. While the pod is unready for another
// reason, the status does not say when memcached became unready, only when it last started or ended.
func (m *member) notServingSince() time.Time {
	times, memcached := []time.Time{pods.ReadinessSince(m.pod)}, m.container(pod.MemcachedContainer)
	if running := memcached.State.Running; running != nil {
		times = append(times, running.StartedAt.Time)
	}
	for _, ended := range []*corev1.ContainerStateTerminated{memcached.State.Terminated, memcached.LastTerminationState.Terminated} {
		if ended != nil {
			times = append(times, ended.FinishedAt.Time)
		}
	}
	return slices.MaxFunc(times, time.Time.Compare)
}
