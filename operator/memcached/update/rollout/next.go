package rollout

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/workload"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/update/diff"
)

// Next returns the one next step. It fails if the template of the StatefulSet cannot be read.
func Next(i Input) (Step, error) {
	set := i.StatefulSet
	if set.Status.ObservedGeneration < set.Generation || set.Status.UpdateRevision == "" {
		return Step{Kind: Wait, Message: "Kubernetes has not processed the latest change yet", After: later}, nil
	}
	if named := set.Spec.Template.Annotations[owned.RecordAnnotation]; named != "" && inputs.RecordNamed(i.Records, named) == nil {
		// Another process leads by now, or did until now: against its template, no pod of an older one may count as up to date.
		return Step{Kind: Wait, Message: "The StatefulSet has just been given another pod template", After: soon}, nil
	}
	if members := i.members(); i.Progress(Step{}).Updated == int32(len(members)) {
		return *cmp.Or(i.missing(members), i.unready(members)), nil
	}
	p, err := newPlanner(i)
	if err != nil {
		return Step{}, fmt.Errorf("the pod template of StatefulSet %s/%s: %w", set.Namespace, set.Name, err)
	}
	return *p.next(), nil
}

// next returns the first step that can be made. Pods without items and clients, and pods that are being updated, come first:
// they wait for no other pod.
func (p *planner) next() *Step {
	var waits *Step
	var others []*member
	for _, m := range p.outdated() {
		if !m.idle(p.Now) && !m.updatingTo(p.revision) {
			others = append(others, m)
			continue
		}
		step := p.advance(m)
		if step.Kind != Wait {
			return step
		}
		waits = cmp.Or(waits, step)
	}
	if waits = cmp.Or(waits, p.incomplete()); waits != nil {
		return waits
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
func (p *planner) advance(m *member) *Step {
	d, err := p.difference(m)
	switch awaited := m.awaitedRestart(); {
	case err != nil && !m.idle(p.Now):
		return stuck(m, "%s cannot be compared with the template: %s. Delete the pod to have it created again; its items will be lost", m.name(), err)
	case err != nil:
		return replace(m, "%s serves no clients and cannot be compared with the template, so it is replaced: %s", m.name(), err)
	case m.updatingTo(p.revision):
		return p.proceed(m, d)
	case awaited != "":
		return p.waitFor(m, "%s in %s has not restarted yet after an earlier change", awaited, m.name())
	case m.idle(p.Now):
		return p.updateIdle(m, d)
	case d.class == diff.Cold:
		return p.replaceServing(m, d)
	}
	return cmp.Or(p.beforeRestart(m, d), p.begin(m, d))
}

// replaceServing replaces a pod that serves clients, or may do so in a moment.
func (p *planner) replaceServing(m *member, d *difference) *Step {
	if d.unrecorded && !p.Approved {
		return stuck(m, "%[1]s is not replaced, because there is no record of what it was given: it may differ in %[2]s. "+
			"To have it replaced, which loses its items: kubectl delete pod %[1]s", m.name(), d.text())
	}
	return cmp.Or(p.pulling(m, d), p.gate(m), replace(m, "%s is replaced and starts empty: %s", m.name(), d.text()))
}

// updateIdle updates a pod that serves no clients.
func (p *planner) updateIdle(m *member, d *difference) *Step {
	inVolume := d.given.Arguments.MemoryFile != "" && d.onePatch()
	if m.empty() && (d.class != diff.None || p.hasForeignImage(m)) || d.class == diff.Cold && !inVolume {
		return replace(m, "%s serves no clients and is replaced: %s", m.name(), d.text())
	}
	return p.begin(m, d)
}

// hasForeignImage reports whether a pod was created from a template with another image than that of the record that it names.
func (p *planner) hasForeignImage(m *member) bool {
	return imageOf(&m.pod.Spec, pod.MemcachedContainer) != imageOf(&p.live.Spec, pod.MemcachedContainer)
}

// replace returns the step that removes a pod.
func replace(m *member, format string, args ...any) *Step {
	return &Step{Kind: Replace, Pod: m.pod, Message: fmt.Sprintf(format, args...), After: soon, Unready: !m.ready()}
}

// stuck returns a wait that does not end by itself.
func stuck(m *member, format string, args ...any) *Step {
	return &Step{Kind: Wait, Pod: m.pod, Message: fmt.Sprintf(format, args...), After: later, Stuck: true}
}

// Progress returns how far the rollout is. step is the step that Next returned, or the one that package executor made of it.
func (i Input) Progress(step Step) workload.Progress {
	progress := workload.Progress{Message: step.Message, Stuck: step.Stuck}
	if step.Pod != nil {
		progress.Pod = step.Pod.Name
	}
	for _, m := range i.members() {
		if m.upToDate(i.StatefulSet.Status.UpdateRevision) {
			progress.Updated++
		}
	}
	if step.Finishes {
		progress.Updated++ // The pods were observed before the step.
	}
	return progress
}
