package rollout

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/kube/pods"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
	"github.com/example/memcached-operator/operator/memcached/update/diff"
)

// beforeRestart waits before a pod restarts: before any restart for the other pods, and before a warm restart of memcached also
// for an agent that can report what happens to the items. A degraded pod does not wait for its agent.
func (p *planner) beforeRestart(m *member, d *difference) (Step, bool, error) {
	restarts := p.restarts(m, d)
	if len(restarts) == 0 || m.broken(p.Now) {
		return Step{}, false, nil
	}
	if step, waits := p.pulling(m, d); waits {
		return step, true, nil
	}
	_, memcached := restarts[pod.MemcachedContainer]
	if memcached && d.class == diff.Warm && m.agent == nil && !m.degraded(p.Now) {
		step, err := p.awaitAgent(m)
		return step, true, err
	}
	step, waits := p.incomplete()
	return step, waits, nil
}

// pulling waits until the images that a pod is to get are on its node.
func (p *planner) pulling(m *member, d *difference) (Step, bool) {
	if p.Pulling == "" || len(p.restarts(m, d)) == 0 {
		return Step{}, false
	}
	return Step{Kind: Wait, Pod: m.pod, Message: p.Pulling, After: later, Stuck: p.PullFailed}, true
}

// awaitAgent waits for an agent that does not answer. The update state of the pod says since when, because one answer that is missed
// is no problem that the user has to fix.
func (p *planner) awaitAgent(m *member) (Step, error) {
	message := fmt.Sprintf("%s is not restarted, because its agent cannot be reached to report whether the items survive: "+
		"allow the operator to connect to port %d of the pod", m.name(), agentapi.MetricsPort)
	if m.update == nil || m.update.SilentSince == nil {
		return p.dateSilence(m, message)
	}
	stuck := p.Now.Sub(*m.update.SilentSince) >= silentAfter
	return Step{Kind: Wait, Pod: m.pod, Message: message, After: soon, Stuck: stuck}, nil
}

// dateSilence returns the step that notes in the update state since when the agent has not answered. A pod that has none yet gets one
// for the revision that it has, so that its update begins later as that of any other pod.
func (p *planner) dateSilence(m *member, message string) (Step, error) {
	state := updateState{Revision: m.revision(), Since: p.Now.UTC(), Given: m.givenRevision(), ResourcesOf: m.resourceRevisions()}
	if m.update != nil {
		state = *m.update
	}
	state.SilentSince = ptr.To(p.Now.UTC())
	text, err := state.text()
	if err != nil {
		return Step{}, err
	}
	return p.patchStep(m, message, edit{annotations: map[string]*string{UpdateAnnotation: &text}})
}

// incomplete waits until every wanted pod exists, and is ready or may stay unready.
func (p *planner) incomplete() (Step, bool) {
	for _, m := range p.members {
		if !m.ready() && !p.mayStayUnready(m) {
			return p.notReady(m), true
		}
	}
	return p.missing(p.members)
}

// mayStayUnready reports whether other pods do not wait for a pod to become ready: a degraded pod that has not been given yet what
// may repair it.
func (p *planner) mayStayUnready(m *member) bool {
	patched := m.updatingTo(p.revision) && m.update.Patched
	return m.degraded(p.Now) && !m.upToDate(p.revision) && !patched
}

// missing waits until there is a pod for every ordinal. A pod that terminates keeps its ordinal, for ever if its node is lost.
func (i Input) missing(members []*member) (Step, bool) {
	for ordinal := wantedPods(i.StatefulSet) - 1; ordinal >= 0; ordinal-- {
		if slices.ContainsFunc(members, func(m *member) bool { return m.ordinal == ordinal }) {
			continue
		}
		name := fmt.Sprintf("%s-%d", i.StatefulSet.Name, ordinal)
		step := Step{Kind: Wait, Message: name + " does not exist yet", After: later}
		if i.overdue(name) >= stuckAfter {
			step.Stuck = true
			step.Message = name + " has been terminating for more than ten minutes; if its node is gone for good, " +
				"delete the Node from the cluster"
		}
		return step, true
	}
	return Step{}, false
}

// overdue returns how long ago a terminating pod should have been gone, 0 if the pod does not terminate.
func (i Input) overdue(name string) time.Duration {
	for at := range i.Pods {
		if pod := &i.Pods[at]; pod.Name == name && pod.DeletionTimestamp != nil {
			return i.Now.Sub(pod.DeletionTimestamp.Time)
		}
	}
	return 0
}

// notReady waits for a pod to become ready.
func (p *planner) notReady(m *member) Step {
	step := Step{Kind: Wait, Pod: m.pod, After: later, Message: m.name() + " is not ready yet"}
	if failure := m.failure(); failure != "" {
		step.Message, step.Stuck = fmt.Sprintf("%s is not ready: %s", m.name(), failure), !m.brieflyUnschedulable(p.Now)
	}
	if p.Now.Sub(pods.ReadinessSince(m.pod)) >= stuckAfter {
		step.Stuck = true
		if m.failure() == "" {
			step.Message = m.name() + " has not been ready for more than ten minutes"
		}
	}
	return step
}

// waitFor waits for a pod that is being updated.
func (p *planner) waitFor(m *member, message string) Step {
	step := Step{Kind: Wait, Pod: m.pod, Message: message, After: soon}
	if failure := m.failure(); failure != "" {
		step.Message, step.Stuck = fmt.Sprintf("%s: %s", message, failure), true
	}
	if p.Now.Sub(m.update.Since) >= stuckAfter {
		step.Message, step.Stuck = step.Message+", for more than ten minutes", true
	}
	return step
}

// awaitCacheMemory waits until the agent reports the memory for items that the pod should have.
func (p *planner) awaitCacheMemory(m *member) Step {
	if m.agent == nil {
		return p.waitFor(m, fmt.Sprintf("the agent of %s cannot be reached to report how much memory memcached uses", m.name()))
	}
	step := p.waitFor(m, fmt.Sprintf("memcached in %s does not use %dMi for items yet", m.name(), m.update.CacheMemory))
	if problem := m.agent.Problem; problem != "" {
		step.Message, step.Stuck = fmt.Sprintf("%s; its agent reports: %s", step.Message, problem), true
	}
	return step
}

// resizing returns what a resize waits for, empty if it is done, and whether the kubelet refuses it.
func (m *member) resizing() (message string, refused bool) {
	pending := pods.Condition(m.pod, corev1.PodResizePending)
	if pending != nil && pending.Status == corev1.ConditionTrue {
		refused = pending.Reason == corev1.PodReasonInfeasible || pending.Reason == corev1.PodReasonDeferred
		return fmt.Sprintf("%s cannot be resized (%s): %s", m.name(), pending.Reason, pending.Message), refused
	}
	if busy := pods.Condition(m.pod, corev1.PodResizeInProgress); busy != nil && busy.Status == corev1.ConditionTrue {
		if busy.Reason == corev1.PodReasonError {
			return fmt.Sprintf("%s is being resized, but the resize fails: %s", m.name(), busy.Message), false
		}
		return m.name() + " is being resized", false
	}
	if limit := m.memoryLimit(); limit != 0 && limit != m.specMemoryLimit() {
		return fmt.Sprintf("the kubelet has not resized %s yet", m.name()), false
	}
	return "", false
}
