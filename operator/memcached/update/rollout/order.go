package rollout

import (
	"fmt"
	"slices"

	"github.com/example/memcached-operator/operator/memcached/desired/pod"
	"github.com/example/memcached-operator/operator/memcached/update/diff"
)

// next returns the first step that can be made. Pods without items and clients, and pods that are being updated, come first:
// they wait for no other pod.
func (p *planner) next() (Step, error) {
	var waits *Step
	var others []*member
	for _, m := range p.outdated() {
		if !m.idle(p.Now) && !m.updatingTo(p.revision) {
			others = append(others, m)
			continue
		}
		step, err := p.advance(m)
		if err != nil || step.Kind != Wait {
			return step, err
		}
		if waits == nil {
			waits = &step
		}
	}
	if waits != nil {
		return *waits, nil
	}
	if step, waits := p.incomplete(); waits {
		return step, nil
	}
	return p.advance(p.first(others))
}

// first returns the pod to update next: one that was being updated to another revision, a degraded one, or the one with the
// highest ordinal.
func (p *planner) first(members []*member) *member {
	for _, precedes := range []func(*member) bool{
		func(m *member) bool { return m.update != nil },
		func(m *member) bool { return m.degraded(p.Now) },
	} {
		if i := slices.IndexFunc(members, precedes); i >= 0 {
			return members[i]
		}
	}
	return members[0]
}

// advance returns the next step for one pod.
func (p *planner) advance(m *member) (Step, error) {
	d, err := p.difference(m)
	switch awaited := m.awaitedRestart(); {
	case err != nil && !m.idle(p.Now):
		message := fmt.Sprintf("%s cannot be compared with the template: %s. Delete the pod to have it created again; its items will be lost",
			m.name(), err)
		return Step{Kind: Wait, Pod: m.pod, Message: message, After: later, Stuck: true}, nil
	case err != nil:
		return p.replace(m, fmt.Sprintf("%s serves no clients and cannot be compared with the template, so it is replaced: %s", m.name(), err)), nil
	case m.updatingTo(p.revision):
		return p.proceed(m, d)
	case awaited != "":
		return p.waitFor(m, fmt.Sprintf("%s in %s has not restarted yet after an earlier change", awaited, m.name())), nil
	case !m.idle(p.Now):
		return p.updateServing(m, d)
	}
	return p.updateIdle(m, d)
}

// updateServing updates a pod that serves clients, or may do so in a moment.
func (p *planner) updateServing(m *member, d *difference) (Step, error) {
	if d.class == diff.Cold {
		if d.unrecorded && !p.Approved {
			return Step{Kind: Wait, Pod: m.pod, After: later, Stuck: true, Message: fmt.Sprintf(
				"%[1]s is not replaced, because there is no record of what it was given: it may differ in %[2]s. "+
					"To have it replaced, which loses its items: kubectl delete pod %[1]s", m.name(), d.text())}, nil
		}
		if step, waits := p.pulling(m, d); waits {
			return step, nil
		}
		if step, closed := p.gate(m); closed {
			return step, nil
		}
		return p.replace(m, fmt.Sprintf("%s is replaced and starts empty: %s", m.name(), d.text())), nil
	}
	if step, waits, err := p.beforeRestart(m, d); waits {
		return step, err
	}
	return p.begin(m, d)
}

// updateIdle updates a pod that serves no clients.
func (p *planner) updateIdle(m *member, d *difference) (Step, error) {
	inVolume := d.given.Arguments.MemoryFile != "" && d.onePatch()
	if m.empty() && (d.class != diff.None || p.hasForeignImage(m)) || d.class == diff.Cold && !inVolume {
		return p.replace(m, fmt.Sprintf("%s serves no clients and is replaced: %s", m.name(), d.text())), nil
	}
	return p.begin(m, d)
}

// hasForeignImage reports whether a pod was created from a template with another image than that of the record that it names.
func (p *planner) hasForeignImage(m *member) bool {
	present, live := containerOf(&m.pod.Spec, pod.MemcachedContainer), containerOf(&p.live.Spec, pod.MemcachedContainer)
	return present != nil && live != nil && present.Image != live.Image
}

// replace returns the step that removes a pod.
func (p *planner) replace(m *member, message string) Step {
	return Step{Kind: Replace, Pod: m.pod, Message: message, After: soon, Unready: !m.ready()}
}
