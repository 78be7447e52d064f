package rollout

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/utils/ptr"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/update/diff"
)

// agentItems is how many items in memcached may belong to the agent. They expire, so losing them is no loss.
const agentItems = 2

// begin returns the first step of an update in place.
func (p *planner) begin(m *member, d *difference) (Step, error) {
	if m.update == nil && !d.resizes() && !d.changesCacheMemory() && len(p.restarts(m, d)) == 0 {
		message := fmt.Sprintf("%s is up to date now: %s", m.name(), d.text())
		if d.class == diff.None {
			message = m.name() + " is up to date"
		}
		if asked := p.live.Annotations[restartedAt]; asked != "" && asked != p.restarted[m.revision()] {
			message = fmt.Sprintf("%[1]s was not restarted: kubectl rollout restart does not restart the pods of a StatefulSet of a cache, "+
				"because their items would be lost. To replace the pod: kubectl delete pod %[1]s", m.name())
		}
		return p.finish(m, d, message)
	}
	if step, waits := p.hashTableTooLarge(m, d); waits {
		return step, nil
	}
	next := p.nextUpdateState(m, d)
	announce := p.announcesRestart(m, d)
	if announce || d.resizes() && !next.Shrinks {
		text, err := next.text()
		if err != nil {
			return Step{}, err
		}
		e := edit{annotations: map[string]*string{UpdateAnnotation: &text}}
		if announce {
			e.annotations[inputs.AgentRestartAnnotation] = ptr.To("")
		}
		return p.patchStep(m, changedInPlace(m, d), e)
	}
	return p.patchInPlace(m, d, next)
}

// announcesRestart reports whether the agent is going to restart in a pod that serves clients through a Service. The kubelet reports
// such a pod as not ready for a moment, although memcached goes on, so the Service is to publish it meanwhile.
func (p *planner) announcesRestart(m *member, d *difference) bool {
	_, restarts := p.restarts(m, d)[agentapi.AgentContainer]
	return restarts && p.Service && m.ready()
}

// nextUpdateState returns the update state for the wanted revision. It keeps what an update state for another revision still
// waits for.
func (p *planner) nextUpdateState(m *member, d *difference) updateState {
	next := updateState{
		Revision: p.revision, Since: p.Now.UTC(), Shrinks: d.shrinks(m), Given: m.givenRevision(), ResourcesOf: m.resourceRevisions(),
	}
	if before := m.update; before != nil {
		next.Restarts, next.Items, next.Process, next.Run = before.Restarts, before.Items, before.Process, before.Run
		next.CacheMemory = before.CacheMemory
		if !before.Patched {
			next.AgentOf = before.AgentOf
		}
	}
	if d.changesCacheMemory() || next.CacheMemory != 0 {
		next.CacheMemory = d.wanted.Arguments.CacheMemory
	}
	return next
}

// patchInPlace returns the patch of an update in place. The patch also notes in the update state what has to follow. If both the agent
// and memcached have to restart, there are two patches, that for the agent first: clients are to miss memcached alone.
func (p *planner) patchInPlace(m *member, d *difference, next updateState) (Step, error) {
	next.SilentSince = nil
	restarts, e := p.restarts(m, d), p.edit(m, d)
	_, agent := restarts[agentapi.AgentContainer]
	if _, memcached := restarts[pod.MemcachedContainer]; memcached && agent && m.ready() {
		delete(restarts, pod.MemcachedContainer)
		e = edit{annotations: map[string]*string{}, initContainers: e.initContainers, containers: slices.DeleteFunc(e.containers,
			func(c containerPatch) bool { return c.Name == pod.MemcachedContainer })}
		next.AgentOf = p.revision
	} else {
		next.Patched = true
	}
	if _, memcached := restarts[pod.MemcachedContainer]; memcached {
		switch {
		case d.class == diff.Cold:
			next.Items = 0
		case m.agent != nil:
			next.Items, next.Process, next.Run = m.agent.Items, m.agent.Process, m.agent.Run
		}
	}
	if next.Restarts = maps.Clone(next.Restarts); next.Restarts == nil {
		next.Restarts = restarts
	}
	maps.Copy(next.Restarts, restarts)
	text, err := next.text()
	if err != nil {
		return Step{}, err
	}
	e.annotations[UpdateAnnotation] = &text
	if next.CacheMemory != 0 && next.Patched {
		memory := fmt.Sprint(next.CacheMemory)
		e.annotations[agentapi.CacheMemoryAnnotation] = &memory
	}
	return p.patchStep(m, changedInPlace(m, d), e)
}

func changedInPlace(m *member, d *difference) string {
	return fmt.Sprintf("%s is changed in place: %s", m.name(), d.text())
}

// proceed returns the next step of an update in place. A pod whose memory limit shrinks has been patched first.
func (p *planner) proceed(m *member, d *difference) (Step, error) {
	if container := m.unfinishedRestart(); container != "" && (m.update.Patched || m.update.AgentOf == p.revision) {
		return p.waitFor(m, fmt.Sprintf("%s in %s is restarting", container, m.name())), nil
	}
	if m.update.Shrinks && !m.hasCacheMemory() {
		return p.awaitCacheMemory(m), nil
	}
	if d.resizes() {
		return p.resize(m, d)
	}
	if !m.observed() {
		return p.waitFor(m, fmt.Sprintf("the kubelet has not acted on the change of %s yet", m.name())), nil
	}
	if message, refused := m.resizing(); message != "" {
		step := p.waitFor(m, message)
		step.Stuck = step.Stuck || refused
		return step, nil
	}
	if m.update.Patched || d.class == diff.None {
		return p.afterPatch(m, d)
	}
	if step, waits, err := p.beforeRestart(m, d); waits {
		return step, err
	}
	if step, waits, err := p.prepareService(m, d); waits || err != nil {
		return step, err
	}
	return p.patchInPlace(m, d, *m.update)
}

// prepareService makes sure that the Service of spec.service publishes a pod while its agent restarts, and not while memcached
// does.
func (p *planner) prepareService(m *member, d *difference) (step Step, waits bool, err error) {
	_, announced := m.pod.Annotations[inputs.AgentRestartAnnotation]
	switch announces := p.announcesRestart(m, d); {
	case announces && p.KeepsUnready:
		return Step{}, false, nil
	case announces && announced:
		return p.waitFor(m, m.name()+" waits until the Service publishes pods that are not ready"), true, nil
	case announces:
		step, err = p.patchStep(m, fmt.Sprintf("the agent of %s is about to restart", m.name()),
			edit{annotations: map[string]*string{inputs.AgentRestartAnnotation: ptr.To("")}})
		return step, true, err
	case announced && len(p.restarts(m, d)) > 0:
		step, err = p.patchStep(m, fmt.Sprintf("the agent of %s has restarted", m.name()),
			edit{annotations: map[string]*string{inputs.AgentRestartAnnotation: nil}})
		return step, true, err
	case p.KeepsUnready && len(p.restarts(m, d)) > 0:
		return p.waitFor(m, m.name()+" waits until the Service publishes ready pods only"), true, nil
	}
	return Step{}, false, nil
}

// afterPatch waits until everything that the patch asked for has happened, and then finishes the update.
func (p *planner) afterPatch(m *member, d *difference) (Step, error) {
	switch {
	case !m.ready():
		return p.notReady(m), nil
	case m.readyFromBefore(p.Now):
		return p.waitFor(m, "the kubelet has not probed "+m.name()+" since the restart yet"), nil
	case !m.hasCacheMemory():
		return p.awaitCacheMemory(m), nil
	case m.update.Items > agentItems:
		return p.checkItems(m, d)
	}
	return p.finish(m, d, m.name()+" is up to date")
}

// checkItems checks whether the items survived the restart.
func (p *planner) checkItems(m *member, d *difference) (Step, error) {
	expected := m.update.Items
	switch {
	case m.agent == nil:
		return p.waitFor(m, fmt.Sprintf("the agent of %s has not reported yet how memcached started", m.name())), nil
	case m.update.before(m.agent):
		return p.waitFor(m, fmt.Sprintf("the agent of %s has not noticed the restart of memcached yet", m.name())), nil
	case m.agent.Warm:
		return p.finish(m, d, fmt.Sprintf("memcached in %s found its items again: it had %d, and has %d", m.name(), expected, m.agent.Items))
	case len(p.outdated()) > 1:
		return Step{Kind: Wait, Pod: m.pod, After: later, Stuck: true, Message: fmt.Sprintf(
			"memcached in %[1]s started empty, although it should have kept its %[2]d items; the other pods are not updated. "+
				"Revert the spec, or continue with: kubectl annotate pod %[1]s %[4]s- ; to find out why: kubectl logs %[1]s -c %[3]s",
			m.name(), expected, pod.MemcachedContainer, UpdateAnnotation)}, nil
	}
	return p.finish(m, d, fmt.Sprintf("memcached in %s started empty, although it should have kept its %d items", m.name(), expected))
}
