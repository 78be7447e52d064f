package rollout

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
	"github.com/example/memcached-operator/operator/memcached/update/diff"
)

// planner is a situation with what follows from it.
type planner struct {
	Input

	revision  string                             // That is wanted.
	template  *corev1.PodTemplateSpec            // That is wanted.
	wanted    diff.State                         // The same, to be compared.
	templates map[string]*corev1.PodTemplateSpec // Of each revision.

	labels, annotations map[string]bool // The keys that any revision has.

	pods []*member // Those that are wanted, the one with the highest number first.
}

func newPlanner(s Input) (*planner, error) {
	r := &planner{
		Input: s, revision: s.StatefulSet.Status.UpdateRevision, template: normalised(&s.StatefulSet.Spec.Template),
		templates: map[string]*corev1.PodTemplateSpec{}, labels: map[string]bool{}, annotations: map[string]bool{},
		pods: s.members(),
	}
	var err error
	if r.wanted, err = diff.Read(diff.StatefulSet, r.template); err != nil {
		return nil, err
	}
	r.wanted.Version = cmp.Or(r.wanted.Version, r.version(r.wanted.Image))
	r.addKeys(r.template)
	for i := range s.Revisions {
		// One that cannot be read is like one that is not there, which is noticed if a pod is of it.
		if template, err := decode(&s.Revisions[i]); err == nil {
			r.templates[s.Revisions[i].Name] = template
			r.addKeys(template)
		}
	}
	return r, nil
}

// addKeys takes over the keys of a template.
func (r *planner) addKeys(template *corev1.PodTemplateSpec) {
	for key := range template.Labels {
		r.labels[key] = true
	}
	for key := range template.Annotations {
		r.annotations[key] = true
	}
}

func (r *planner) version(image string) string {
	if r.Version == nil {
		return ""
	}
	return r.Version(image)
}

// next returns the first step that can be made: pods that serve nobody and those on their way come first, because no other
// is waited for on their behalf.
func (r *planner) next() (Step, error) {
	var waits *Step
	var others []*member
	for _, n := range r.outdated() {
		if !n.idle(r.Now) && !n.updatingTo(r.revision) {
			others = append(others, n)
			continue
		}
		step, err := r.advance(n)
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
	if step, waits := r.incomplete(); waits {
		return step, nil
	}
	return r.advance(r.first(others))
}

// outdated returns the pods that are not of the template.
func (r *planner) outdated() []*member {
	var outdated []*member
	for _, n := range r.pods {
		if !n.done(r.revision) {
			outdated = append(outdated, n)
		}
	}
	return outdated
}

// first returns the pod that follows: one that had been on its way to another revision, one that limps, or that with the
// highest number.
func (r *planner) first(nodes []*member) *member {
	for _, precedes := range []func(*member) bool{
		func(n *member) bool { return n.update != nil },
		func(n *member) bool { return n.degraded(r.Now) },
	} {
		if i := slices.IndexFunc(nodes, precedes); i >= 0 {
			return nodes[i]
		}
	}
	return nodes[0]
}

// incomplete waits until every pod that is wanted is there, and ready unless it is excused.
func (r *planner) incomplete() (Step, bool) {
	for _, n := range r.pods {
		if !n.ready() && !r.mayStayUnready(n) {
			return r.notReady(n), true
		}
	}
	return r.missing(r.pods)
}

// mayStayUnready tells whether nobody waits for a pod to become ready: one that limps, and has not got what may mend it yet.
func (r *planner) mayStayUnready(n *member) bool {
	patched := n.updatingTo(r.revision) && n.update.Patched
	return n.degraded(r.Now) && !n.done(r.revision) && !patched
}

// advance returns what brings one pod closer to the template.
func (r *planner) advance(n *member) (Step, error) {
	d, err := r.difference(n)
	switch awaited := n.awaited(); {
	case err != nil && !n.idle(r.Now):
		why := fmt.Sprintf("%s cannot be compared with the template: %s. Delete it to have it made anew; its items will be lost", n.name(), err)
		return Step{Kind: Wait, Pod: n.pod, Message: why, After: later, Stuck: true}, nil
	case err != nil:
		return r.replace(n, fmt.Sprintf("%s serves nobody, and cannot be compared with the template: %s", n.name(), err)), nil
	case n.updatingTo(r.revision):
		return r.proceed(n, d)
	case awaited != "":
		return r.waitFor(n, fmt.Sprintf("%s in %s has yet to be restarted, as was asked for before", awaited, n.name())), nil
	case !n.idle(r.Now):
		return r.update(n, d)
	}
	return r.repair(n, d)
}

// update changes a pod that serves clients, or may in a moment.
func (r *planner) update(n *member, d *difference) (Step, error) {
	if d.class == diff.Cold {
		if step, closed := r.gate(n); closed {
			return step, nil
		}
		return r.replace(n, fmt.Sprintf("%s is replaced, and starts empty: %s", n.name(), d.text())), nil
	}
	if step, waits := r.beforeRestart(n, d); waits {
		return step, nil
	}
	return r.begin(n, d)
}

// beforeRestart waits with a restart of memcached for an agent that can tell what becomes of the items, unless the pod limps
// because of it, and with any restart for other pods.
func (r *planner) beforeRestart(n *member, d *difference) (Step, bool) {
	restarts := r.restarts(n, d)
	if len(restarts) == 0 || n.broken(r.Now) {
		return Step{}, false
	}
	_, memcached := restarts[pod.MemcachedContainer]
	if memcached && d.class == diff.Warm && n.agent == nil && !n.degraded(r.Now) {
		why := fmt.Sprintf("%s is not restarted, because its agent cannot be reached to tell whether the items stay: "+
			"let the operator connect to port %d of the pod", n.name(), agentapi.MetricsPort)
		return Step{Kind: Wait, Pod: n.pod, Message: why, After: soon, Stuck: true}, true
	}
	return r.incomplete()
}

// repair changes a pod that serves nobody.
func (r *planner) repair(n *member, d *difference) (Step, error) {
	inVolume := d.running.Arguments.MemoryFile != "" && d.onePatch()
	if n.empty() && d.class != diff.None || d.class == diff.Cold && !inVolume {
		return r.replace(n, fmt.Sprintf("%s serves nobody, and is replaced: %s", n.name(), d.text())), nil
	}
	return r.begin(n, d)
}

// replace removes a pod.
func (r *planner) replace(n *member, why string) Step {
	return Step{Kind: Replace, Pod: n.pod, Class: diff.Cold, Message: why, After: soon, Unready: !n.ready()}
}
