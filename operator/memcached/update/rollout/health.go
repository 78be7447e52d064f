package rollout

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/operator/kube/pods"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
)

const (
	// brokenAfter is how long a pod that runs may not be ready before it counts as broken, or limping. A pod of a cache that
	// is only overloaded comes back earlier.
	brokenAfter = time.Minute

	// stuckAfter is how long anything may take before it counts as stuck: that of Kubernetes' own Deployments.
	stuckAfter = 10 * time.Minute
)

// failure returns what keeps a pod from becoming ready, empty if nothing is known to.
func (n *member) failure() string {
	if failure := n.failureToServe(); failure != "" {
		return failure
	}
	return n.failureOf(n.pod.Spec.Containers)
}

// failureToServe returns what keeps memcached from serving clients, empty if nothing is known to.
func (n *member) failureToServe() string {
	if why, unschedulable := pods.Unschedulable(n.pod); unschedulable {
		return "no machine has room for it: " + why
	}
	concerned := slices.Clone(n.pod.Spec.InitContainers)
	if memcached := pods.Container(n.pod.Spec.Containers, pod.MemcachedContainer); memcached != nil {
		concerned = append(concerned, *memcached)
	}
	return n.failureOf(concerned)
}

// failureOf returns why the first of the containers that cannot start does not, empty if all can.
func (n *member) failureOf(containers []corev1.Container) string {
	for _, container := range containers {
		status := n.container(container.Name)
		failure, fails := pods.StartFailureOf(status)
		switch {
		case fails && failure.OfImage:
			return fmt.Sprintf("the image %q of container %s %s", container.Image, container.Name, failure.Problem)
		case fails:
			return fmt.Sprintf("with image %q, container %s %s", container.Image, container.Name, failure.Problem)
		case status.State.Waiting != nil && status.State.Waiting.Reason == "CrashLoopBackOff":
			return fmt.Sprintf("with image %q, container %s does not keep running (CrashLoopBackOff)",
				container.Image, container.Name)
		}
	}
	return ""
}

// serves tells whether memcached itself is ready. The pod may not be: its agent has a probe of its own.
func (n *member) serves() bool {
	memcached := n.container(pod.MemcachedContainer)
	return n.ready() || memcached.Ready && memcached.State.Running != nil
}

// broken tells whether a pod serves nobody and is not about to.
func (n *member) broken(now time.Time) bool {
	return !n.serves() && (n.failureToServe() != "" || now.Sub(n.notServingSince()) >= brokenAfter)
}

// idle tells whether there is no item to lose and no client to disturb in a pod.
func (n *member) idle(now time.Time) bool { return n.empty() || n.broken(now) }

// degraded tells whether memcached in a pod serves, but the pod is not ready and not about to be.
func (n *member) degraded(now time.Time) bool {
	return n.serves() && !n.ready() && (n.failure() != "" || now.Sub(pods.ReadinessSince(n.pod)) >= brokenAfter)
}

// notServingSince returns since when memcached may have served nobody. While its pod is not ready for another reason, nothing
// tells when memcached stopped being ready, but when it last started or ended.
func (n *member) notServingSince() time.Time {
	since, memcached := pods.ReadinessSince(n.pod), n.container(pod.MemcachedContainer)
	if running := memcached.State.Running; running != nil {
		since = latest(since, running.StartedAt.Time)
	}
	for _, ended := range []*corev1.ContainerStateTerminated{memcached.State.Terminated, memcached.LastTerminationState.Terminated} {
		if ended != nil {
			since = latest(since, ended.FinishedAt.Time)
		}
	}
	return since
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// missing waits until there is a pod in every slot. A pod that stops keeps its slot: if its machine is lost, for ever.
func (s Input) missing(there []*member) (Step, bool) {
	for slot := wantedPods(s.StatefulSet) - 1; slot >= 0; slot-- {
		if slices.ContainsFunc(there, func(n *member) bool { return n.ordinal == slot }) {
			continue
		}
		name := fmt.Sprintf("%s-%d", s.StatefulSet.Name, slot)
		step := Step{Kind: Wait, Message: name + " is not there yet", After: later}
		if s.stopping(name) >= stuckAfter {
			step.Stuck = true
			step.Message = name + " has been stopping for more than ten minutes; if its machine is gone for good, " +
				"delete that from the cluster"
		}
		return step, true
	}
	return Step{}, false
}

// stopping returns for how long the pod of a name should have stopped already, 0 if it should not.
func (s Input) stopping(name string) time.Duration {
	for i := range s.Pods {
		if pod := &s.Pods[i]; pod.Name == name && pod.DeletionTimestamp != nil {
			return s.Now.Sub(pod.DeletionTimestamp.Time)
		}
	}
	return 0
}

// notReady waits for a pod that is not ready.
func (r *planner) notReady(n *member) Step {
	step := Step{Kind: Wait, Pod: n.pod, After: later, Message: n.name() + " is not ready yet"}
	if failure := n.failure(); failure != "" {
		step.Message, step.Stuck = fmt.Sprintf("%s is not ready: %s", n.name(), failure), true
	}
	if r.Now.Sub(pods.ReadinessSince(n.pod)) >= stuckAfter {
		step.Stuck = true
		if n.failure() == "" {
			step.Message = n.name() + " has not been ready for more than ten minutes"
		}
	}
	return step
}
