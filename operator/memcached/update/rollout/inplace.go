package rollout

import (
	"cmp"
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
func (p *planner) begin(m *member, d *difference) *Step {
	if m.update == nil && !d.resizes() && !d.changesCacheMemory() && len(d.restarts) == 0 {
		step := p.finish(m, d, p.nothingRestarted(m, d))
		step.Ignores = p.ignoresRestart(m)
		return step
	}
	if step := p.hashTableTooLarge(m, d); step != nil {
		return step
	}
	next, announce := p.nextUpdateState(m, d), p.announcesRestart(m, d)
	if !announce && (!d.resizes() || next.Shrinks) {
		return p.patchInPlace(m, d, next)
	}
	e := edit{annotations: map[string]*string{UpdateAnnotation: next.text()}}
	if announce {
		e.annotations[inputs.AgentRestartAnnotation] = ptr.To("")
	}
	return patchStep(m, changedInPlace(m, d), e)
}

// nothingRestarted tells the user that a pod is up to date without a restart.
func (p *planner) nothingRestarted(m *member, d *difference) string {
	switch {
	case p.ignoresRestart(m):
		return fmt.Sprintf("%[1]s was not restarted: kubectl rollout restart does not restart the pods of a StatefulSet of a cache, "+
			"because their items would be lost. To replace the pod: kubectl delete pod %[1]s", m.name())
	case d.class == diff.None:
		return m.name() + " is up to date"
	case d.class == diff.NextReplacement:
		return fmt.Sprintf("%s is up to date. When it is replaced for another reason, it gets: %s", m.name(), d.text())
	}
	return fmt.Sprintf("%s is up to date now: %s", m.name(), d.text())
}

// ignoresRestart reports whether somebody has asked for a restart of the pod by `kubectl rollout restart`.
func (p *planner) ignoresRestart(m *member) bool {
	asked := p.live.Annotations[restartedAt]
	return asked != "" && asked != p.renderings[m.revision()].restarted
}

// announcesRestart reports whether the agent is going to restart in a pod that serves clients through a Service. The kubelet reports
// such a pod as not ready for a moment, although memcached goes on, so the Service is to publish it meanwhile.
func (p *planner) announcesRestart(m *member, d *difference) bool {
	_, restarts := d.restarts[agentapi.AgentContainer]
	return restarts && p.Service && m.ready()
}

// nextUpdateState returns the update state for the wanted revision. It keeps what an update state for another revision still
// waits for.
func (p *planner) nextUpdateState(m *member, d *difference) updateState {
	next := updateState{}
	if m.update != nil {
		next = *m.update
	}
	if next.Patched {
		next.AgentOf = ""
	}
	next.Revision, next.Since, next.Shrinks, next.Patched, next.SilentSince = p.revision, p.Now.UTC(), d.shrinks(m), false, nil
	next.Given, next.ResourcesOf = m.givenRevision(), m.resourceRevisions()
	if d.changesCacheMemory() || next.CacheMemory != 0 {
		next.CacheMemory = d.wanted.Arguments.CacheMemory
	}
	return next
}

// patchInPlace returns the patch of an update in place. The patch also notes in the update state what has to follow. If both the agent
// and memcached have to restart, there are two patches, that for the agent first: clients are to miss memcached alone.
func (p *planner) patchInPlace(m *member, d *difference, next updateState) *Step {
	e, restarts := d.edit, maps.Clone(d.restarts)
	next.SilentSince = nil
	_, agent := restarts[agentapi.AgentContainer]
	_, memcached := restarts[pod.MemcachedContainer]
	if agent && memcached && m.ready() {
		memcached, next.AgentOf = false, p.revision
		delete(restarts, pod.MemcachedContainer)
		e = edit{annotations: map[string]*string{}, containers: slices.DeleteFunc(e.containers, func(c containerPatch) bool {
			return c.Name == pod.MemcachedContainer
		})}
	} else {
		next.Patched = true
	}
	switch {
	case memcached && d.class == diff.Cold:
		next.Items = 0
	case memcached && m.agent != nil:
		next.Items, next.Process, next.Run = m.agent.Items, m.agent.Process, m.agent.Run
	}
	next.Restarts = maps.Collect(maps.All(next.Restarts))
	maps.Copy(next.Restarts, restarts)
	e.annotations[UpdateAnnotation] = next.text()
	if next.CacheMemory != 0 && next.Patched {
		e.annotations[agentapi.CacheMemoryAnnotation] = ptr.To(fmt.Sprint(next.CacheMemory))
	}
	return patchStep(m, changedInPlace(m, d), e)
}

func changedInPlace(m *member, d *difference) string {
	return fmt.Sprintf("%s is changed in place: %s", m.name(), d.text())
}

// proceed returns the next step of an update in place. A pod whose memory limit shrinks has been patched first.
func (p *planner) proceed(m *member, d *difference) *Step {
	if restarts := m.unfinishedRestarts(); len(restarts) > 0 && (m.update.Patched || m.update.AgentOf == p.revision) {
		return p.waitFor(m, "%s in %s is restarting", restarts[0], m.name())
	}
	if step := p.awaitCacheMemory(m); m.update.Shrinks && step != nil {
		return step
	}
	if d.resizes() {
		return resize(m, d)
	}
	if step := p.awaitKubelet(m); step != nil {
		return step
	}
	if m.update.Patched || d.class == diff.None {
		return p.afterPatch(m, d)
	}
	return cmp.Or(p.beforeRestart(m, d), p.prepareService(m, d), p.patchInPlace(m, d, *m.update))
}

// prepareService makes sure that the Service of spec.service publishes a pod while its agent restarts, and not while memcached
// does.
func (p *planner) prepareService(m *member, d *difference) *Step {
	announces := p.announcesRestart(m, d)
	switch _, announced := m.pod.Annotations[inputs.AgentRestartAnnotation]; {
	case announces && p.KeepsUnready || len(d.restarts) == 0:
		return nil
	case announces && announced:
		return p.waitFor(m, "%s waits until the Service publishes pods that are not ready", m.name())
	case announces:
		return patchStep(m, fmt.Sprintf("the agent of %s is about to restart", m.name()),
			edit{annotations: map[string]*string{inputs.AgentRestartAnnotation: ptr.To("")}})
	case announced:
		return patchStep(m, fmt.Sprintf("the agent of %s has restarted", m.name()),
			edit{annotations: map[string]*string{inputs.AgentRestartAnnotation: nil}})
	case p.KeepsUnready:
		return p.waitFor(m, "%s waits until the Service publishes ready pods only", m.name())
	}
	return nil
}

// afterPatch waits until everything that the patch asked for has happened, and then finishes the update.
func (p *planner) afterPatch(m *member, d *difference) *Step {
	switch {
	case !m.ready():
		return p.notReady(m)
	case p.mayTurnUnready(m):
		return p.waitFor(m, "%s has just restarted: the kubelet may still report that it is not ready", m.name())
	}
	return cmp.Or(p.awaitCacheMemory(m), p.checkItems(m, d))
}

// checkItems checks whether the items survived the restart, and finishes the update.
func (p *planner) checkItems(m *member, d *difference) *Step {
	expected := m.update.Items
	switch {
	case expected <= agentItems:
		return p.finish(m, d, m.name()+" is up to date")
	case m.agent == nil:
		return p.waitFor(m, "the agent of %s has not reported yet how memcached started", m.name())
	case m.update.before(m.agent):
		return p.waitFor(m, "the agent of %s has not noticed the restart of memcached yet", m.name())
	case m.agent.Warm:
		return p.finish(m, d, fmt.Sprintf("memcached in %s found its items again: it had %d, and has %d", m.name(), expected, m.agent.Items))
	case len(p.outdated()) > 1:
		return stuck(m, "memcached in %[1]s started empty, although it should have kept its %[2]d items; the other pods are not updated. "+
			"Revert the spec, or continue with: kubectl annotate pod %[1]s %[4]s- ; to find out why: kubectl logs %[1]s -c %[3]s",
			m.name(), expected, pod.MemcachedContainer, UpdateAnnotation)
	}
	return p.finish(m, d, fmt.Sprintf("memcached in %s started empty, although it should have kept its %d items", m.name(), expected))
}
