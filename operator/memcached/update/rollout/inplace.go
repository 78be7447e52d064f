package rollout

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/kube/pods"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
	"github.com/example/memcached-operator/operator/memcached/update/diff"
)

// agentItems is how many items of a memcached may be its agent's. They expire, so their loss is none.
const agentItems = 2

// begin makes the first step of a change in place.
func (r *planner) begin(n *member, d *difference) (Step, error) {
	restarts := r.restarts(n, d)
	if n.update == nil && !d.resizes() && !d.memory() && len(restarts) == 0 {
		why := fmt.Sprintf("%s has the template now: %s", n.name(), d.text())
		if d.class == diff.None {
			why = n.name() + " is of the template"
		}
		return r.finish(n, d, why)
	}
	next := r.nextUpdateState(n, d)
	if d.resizes() && !next.Shrinks {
		text, err := next.text()
		if err != nil {
			return Step{}, err
		}
		return r.patched(n, d.class, fmt.Sprintf("%s is changed in place: %s", n.name(), d.text()),
			edit{annotations: map[string]*string{UpdateAnnotation: &text}})
	}
	return r.patch(n, d, next)
}

// nextUpdateState returns the mark for the revision that is wanted. What a mark for another revision still waits for is taken over.
func (r *planner) nextUpdateState(n *member, d *difference) updateState {
	next := updateState{Revision: r.revision, Since: r.Now.UTC(), Shrinks: d.shrinks(n), Given: n.given(), Sizes: n.sizes()}
	if before := n.update; before != nil {
		next.Restarts, next.Items, next.Process = before.Restarts, before.Items, before.Process
		next.CacheMemory = before.CacheMemory
	}
	if d.memory() || next.CacheMemory != 0 {
		next.CacheMemory = d.wanted.Arguments.CacheMemory
	}
	return next
}

// patch makes the one patch, and notes what has to come of it.
func (r *planner) patch(n *member, d *difference, m updateState) (Step, error) {
	m.Patched = true
	restarts := r.restarts(n, d)
	if _, memcached := restarts[pod.MemcachedContainer]; memcached {
		switch {
		case d.class == diff.Cold:
			m.Items = 0
		case n.agent != nil:
			m.Items, m.Process = n.agent.Items, n.agent.Process
		}
	}
	if m.Restarts = maps.Clone(m.Restarts); m.Restarts == nil {
		m.Restarts = restarts
	}
	maps.Copy(m.Restarts, restarts)
	text, err := m.text()
	if err != nil {
		return Step{}, err
	}
	e := r.edit(d)
	e.annotations[UpdateAnnotation] = &text
	if m.CacheMemory != 0 {
		memory := fmt.Sprint(m.CacheMemory)
		e.annotations[agentapi.CacheMemoryAnnotation] = &memory
	}
	return r.patched(n, d.class, fmt.Sprintf("%s is changed in place: %s", n.name(), d.text()), e)
}

// restarts returns the IDs of the containers that a patch is going to restart.
func (r *planner) restarts(n *member, d *difference) map[string]string {
	restarts, e := map[string]string{}, r.edit(d)
	for _, container := range slices.Concat(e.containers, e.initContainers) {
		restarts[container.Name] = n.container(container.Name).ContainerID
	}
	return restarts
}

// proceed makes the next step of a change in place. One that shrinks has been patched from the beginning.
func (r *planner) proceed(n *member, d *difference) (Step, error) {
	if restarts := n.unfinished(); restarts != "" && n.update.Patched {
		return r.waitFor(n, fmt.Sprintf("%s in %s restarts", restarts, n.name())), nil
	}
	if n.update.Shrinks && !n.hasCacheMemory() {
		return r.awaitCacheMemory(n), nil
	}
	if d.resizes() {
		return r.resize(n, d)
	}
	if !n.observed() {
		return r.waitFor(n, fmt.Sprintf("the machine of %s has yet to act on the change", n.name())), nil
	}
	if why, refused := n.resizing(); why != "" {
		step := r.waitFor(n, why)
		step.Stuck = step.Stuck || refused
		return step, nil
	}
	if n.update.Patched || d.class == diff.None {
		return r.settle(n, d)
	}
	if step, waits := r.beforeRestart(n, d); waits {
		return step, nil
	}
	return r.patch(n, d, *n.update)
}

// settle waits until what has been asked for is so.
func (r *planner) settle(n *member, d *difference) (Step, error) {
	switch {
	case !n.ready():
		return r.notReady(n), nil
	case !n.hasCacheMemory():
		return r.awaitCacheMemory(n), nil
	case n.update.Items > agentItems:
		return r.checkItems(n, d)
	}
	return r.finish(n, d, n.name()+" is of the template")
}

// checkItems tells whether the items survived the restart.
func (r *planner) checkItems(n *member, d *difference) (Step, error) {
	expected := n.update.Items
	switch {
	case n.agent == nil:
		return r.waitFor(n, fmt.Sprintf("the agent of %s has yet to tell how memcached started", n.name())), nil
	case n.agent.Process == n.update.Process:
		return r.waitFor(n, fmt.Sprintf("the agent of %s has yet to see that memcached started anew", n.name())), nil
	case n.agent.Warm:
		return r.finish(n, d, fmt.Sprintf("memcached in %s found its items again: it had %d, and has %d", n.name(), expected, n.agent.Items))
	case len(r.outdated()) > 1:
		return Step{Kind: Wait, Pod: n.pod, After: later, Stuck: true, Message: fmt.Sprintf(
			"memcached in %[1]s started empty, although it should have kept its %[2]d items; the other nodes are left as they are. "+
				"See why with kubectl logs %[1]s -c %[3]s; revert the spec, or go on with kubectl annotate pod %[1]s %[4]s-",
			n.name(), expected, pod.MemcachedContainer, UpdateAnnotation)}, nil
	}
	return r.finish(n, d, fmt.Sprintf("memcached in %s started empty, although it should have kept its %d items", n.name(), expected))
}

// hasCacheMemory tells whether memcached has the memory for items that it should have.
func (n *member) hasCacheMemory() bool {
	return n.update.CacheMemory == 0 || n.agent != nil && n.agent.CacheMemory == n.update.CacheMemory
}

func (r *planner) awaitCacheMemory(n *member) Step {
	if n.agent == nil {
		return r.waitFor(n, fmt.Sprintf("the agent of %s cannot be reached to tell how much memory memcached takes", n.name()))
	}
	step := r.waitFor(n, fmt.Sprintf("memcached in %s has yet to take %dMi for items", n.name(), n.update.CacheMemory))
	if problem := n.agent.Problem; problem != "" {
		step.Message, step.Stuck = fmt.Sprintf("%s; its agent says: %s", step.Message, problem), true
	}
	return step
}

// waitFor waits for a pod that is on its way.
func (r *planner) waitFor(n *member, why string) Step {
	step := Step{Kind: Wait, Pod: n.pod, Message: why, After: soon}
	if failure := n.failure(); failure != "" {
		step.Message, step.Stuck = fmt.Sprintf("%s: %s", why, failure), true
	}
	if r.Now.Sub(n.update.Since) >= stuckAfter {
		step.Message, step.Stuck = step.Message+", for more than ten minutes", true
	}
	return step
}

// resizing returns what a resize waits for, empty if it is done, and whether the machine refuses it.
func (n *member) resizing() (why string, refused bool) {
	pending := pods.Condition(n.pod, corev1.PodResizePending)
	if pending != nil && pending.Status == corev1.ConditionTrue {
		refused = pending.Reason == corev1.PodReasonInfeasible || pending.Reason == corev1.PodReasonDeferred
		return fmt.Sprintf("%s cannot be resized (%s): %s", n.name(), pending.Reason, pending.Message), refused
	}
	if busy := pods.Condition(n.pod, corev1.PodResizeInProgress); busy != nil && busy.Status == corev1.ConditionTrue {
		if busy.Reason == corev1.PodReasonError {
			return fmt.Sprintf("%s is being resized, which fails: %s", n.name(), busy.Message), false
		}
		return n.name() + " is being resized", false
	}
	if limit := n.memoryLimit(); limit != 0 && limit != n.askedMemoryLimit() {
		return fmt.Sprintf("the machine of %s has yet to resize it", n.name()), false
	}
	return "", false
}
