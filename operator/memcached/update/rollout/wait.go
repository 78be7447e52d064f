package rollout

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/kube/pods"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/update/diff"
)

// beforeRestart waits before a pod restarts: before any restart for the other pods, and before a warm restart of memcached also
// for an agent that can report what happens to the items. A degraded pod does not wait for its agent.
func (p *planner) beforeRestart(m *member, d *difference) *Step {
	if len(d.restarts) == 0 || m.broken(p.Now) {
		return nil
	}
	if d.class == diff.Warm && m.agent == nil && !m.degraded(p.Now) {
		return cmp.Or(p.pulling(m, d), p.awaitAgent(m))
	}
	return cmp.Or(p.pulling(m, d), p.incomplete())
}

// pulling waits until the images that a pod is to get are on its node.
func (p *planner) pulling(m *member, d *difference) *Step {
	if p.Pulling == "" || len(d.restarts) == 0 {
		return nil
	}
	return &Step{Kind: Wait, Pod: m.pod, Message: p.Pulling, After: later, Stuck: p.PullFailed}
}

// awaitAgent waits for an agent that does not answer. The update state of the pod says since when, because one answer that is missed
// is no problem that the user has to fix. A pod that has no update state yet gets one for the revision that it has, so that its update
// begins later as that of any other pod.
func (p *planner) awaitAgent(m *member) *Step {
	message := fmt.Sprintf("%s is not restarted, because its agent cannot be reached to report whether the items survive: "+
		"allow the operator to connect to port %d of the pod", m.name(), agentapi.MetricsPort)
	if m.update != nil && m.update.SilentSince != nil {
		silent := p.Now.Sub(*m.update.SilentSince)
		return &Step{Kind: Wait, Pod: m.pod, Message: message, After: soon, Stuck: silent >= silentAfter}
	}
	state := updateState{Revision: m.revision(), Since: p.Now.UTC(), Given: m.givenRevision(), ResourcesOf: m.resourceRevisions()}
	if m.update != nil {
		state = *m.update
	}
	state.SilentSince = ptr.To(p.Now.UTC())
	return patchStep(m, message, edit{annotations: map[string]*string{UpdateAnnotation: state.text()}})
}

// incomplete waits until every wanted pod exists, and is ready or may stay unready.
func (p *planner) incomplete() *Step {
	for _, m := range p.members {
		if !m.ready() && !p.mayStayUnready(m) {
			return p.notReady(m)
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
func (i Input) missing(members []*member) *Step {
	for ordinal := wantedPods(i.StatefulSet) - 1; ordinal >= 0; ordinal-- {
		if slices.ContainsFunc(members, func(m *member) bool { return m.ordinal == ordinal }) {
			continue
		}
		name := fmt.Sprintf("%s-%d", i.StatefulSet.Name, ordinal)
		if !slices.ContainsFunc(i.Pods, func(pod corev1.Pod) bool {
			return pod.Name == name && pod.DeletionTimestamp != nil && i.Now.Sub(pod.DeletionTimestamp.Time) >= stuckAfter
		}) {
			return &Step{Kind: Wait, Message: name + " does not exist yet", After: later}
		}
		return &Step{Kind: Wait, After: later, Stuck: true,
			Message: name + " has been terminating for more than ten minutes; if its node is gone for good, delete the Node from the cluster"}
	}
	return nil
}

// unready gives up a rollout of the operator if a pod that it has updated has not become ready for too long, and has no failure that says
// why: the kubelet may not get to start its containers. Otherwise OLM would wait for the end of the rollout for ever.
func (i Input) unready(members []*member) *Step {
	step := &Step{Kind: None}
	if len(i.Records) == 0 || i.Records[0].Cause != inputs.ByOperator || i.Records[0].RolledOut {
		return step
	}
	for _, m := range members {
		if m.ready() || m.failure() != "" {
			continue
		}
		left := stuckAfter - i.Now.Sub(pods.ReadinessSince(m.pod))
		if left <= 0 {
			return stuck(m, "%s has not been ready for more than ten minutes", m.name())
		}
		if step.After == 0 || left < step.After {
			step.After = left
		}
	}
	return step
}

// notReady waits for a pod to become ready.
func (p *planner) notReady(m *member) *Step {
	step := &Step{Kind: Wait, Pod: m.pod, After: later, Message: m.name() + " is not ready yet"}
	late := p.Now.Sub(pods.ReadinessSince(m.pod)) >= stuckAfter
	switch failure := m.failure(); {
	case failure != "":
		step.Message, step.Stuck = fmt.Sprintf("%s is not ready: %s", m.name(), failure), late || !m.brieflyUnschedulable(p.Now)
	case late:
		return stuck(m, "%s has not been ready for more than ten minutes", m.name())
	}
	return step
}

// waitFor waits for a pod that is being updated.
func (p *planner) waitFor(m *member, format string, args ...any) *Step {
	step := &Step{Kind: Wait, Pod: m.pod, Message: fmt.Sprintf(format, args...), After: soon}
	if failure := m.failure(); failure != "" {
		step.Message, step.Stuck = step.Message+": "+failure, true
	}
	if p.Now.Sub(m.update.Since) >= stuckAfter {
		step.Message, step.Stuck = step.Message+", for more than ten minutes", true
	}
	return step
}

// awaitCacheMemory waits until the agent reports the memory for items that the pod should have, if it should have any.
func (p *planner) awaitCacheMemory(m *member) *Step {
	switch {
	case m.update.CacheMemory == 0 || m.agent != nil && m.agent.CacheMemory == m.update.CacheMemory:
		return nil
	case m.agent == nil:
		return p.waitFor(m, "the agent of %s cannot be reached to report how much memory memcached uses", m.name())
	}
	step := p.waitFor(m, "memcached in %s does not use %dMi for items yet", m.name(), m.update.CacheMemory)
	if problem := m.agent.Problem; problem != "" {
		step.Message, step.Stuck = fmt.Sprintf("%s; its agent reports: %s", step.Message, problem), true
	}
	return step
}

// awaitKubelet waits until the kubelet has seen the newest spec of the pod, and has made a resize.
func (p *planner) awaitKubelet(m *member) *Step {
	if !m.observed() {
		return p.waitFor(m, "the kubelet has not acted on the change of %s yet", m.name())
	}
	pending, busy := pods.Condition(m.pod, corev1.PodResizePending), pods.Condition(m.pod, corev1.PodResizeInProgress)
	switch limit := m.memoryLimit(); {
	case pending != nil && pending.Status == corev1.ConditionTrue:
		step := p.waitFor(m, "%s cannot be resized (%s): %s", m.name(), pending.Reason, pending.Message)
		step.Stuck = step.Stuck || pending.Reason == corev1.PodReasonInfeasible || pending.Reason == corev1.PodReasonDeferred
		return step
	case busy != nil && busy.Status == corev1.ConditionTrue && busy.Reason == corev1.PodReasonError:
		return p.waitFor(m, "%s is being resized, but the resize fails: %s", m.name(), busy.Message)
	case busy != nil && busy.Status == corev1.ConditionTrue:
		return p.waitFor(m, "%s is being resized", m.name())
	case limit != 0 && limit != resourcesOf(&m.pod.Spec).Limits.Memory().Value():
		return p.waitFor(m, "the kubelet has not resized %s yet", m.name())
	}
	return nil
}
