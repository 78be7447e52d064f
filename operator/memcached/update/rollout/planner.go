package rollout

import (
	"cmp"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/pods"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/update/diff"
)

// planner is an Input with what follows from it.
type planner struct {
	Input
	revision            string                  // The wanted one.
	live                *corev1.PodTemplateSpec // The template of the StatefulSet, to which others may have added something.
	template            *corev1.PodTemplateSpec // The wanted rendering.
	wanted              diff.State              // The wanted rendering, for package diff.
	renderings          map[string]rendering    // That of each revision.
	labels, annotations map[string]bool         // The keys that any rendering has.
	members             []*member               // The wanted pods, the one with the highest ordinal first.
}

// rendering is what the pods of a revision were given.
type rendering struct {
	template  *corev1.PodTemplateSpec
	partial   bool   // There is no record: the template is the live one, of which only the wanted fields are known to be the operator's.
	restarted string // When somebody asked for a restart of the pods.
}

func newPlanner(i Input) (*planner, error) {
	p := &planner{
		Input: i, revision: i.StatefulSet.Status.UpdateRevision, live: normalised(&i.StatefulSet.Spec.Template),
		renderings: map[string]rendering{}, labels: map[string]bool{}, annotations: map[string]bool{}, members: i.members(),
	}
	for at := range i.Revisions {
		p.addRevision(&i.Revisions[at])
	}
	p.template = p.wantedRendering()
	p.addKeys(p.template)
	var err error
	if p.wanted, err = diff.Read(diff.StatefulSet, p.template); err != nil {
		return nil, err
	}
	p.wanted.Version = cmp.Or(p.wanted.Version, p.Version(p.wanted.Image))
	return p, nil
}

// wantedRendering returns the record of the template of the StatefulSet. A template that names none has been written by somebody else
// since, who left everything in it that the newest record says: otherwise the operator would have repaired it.
func (p *planner) wantedRendering() *corev1.PodTemplateSpec {
	if record := inputs.RecordNamed(p.Records, p.live.Annotations[owned.RecordAnnotation]); record != nil {
		return renderingOf(record)
	}
	if of := p.renderings[p.revision]; of.template != nil && !of.partial {
		return of.template
	}
	if len(p.Records) > 0 {
		return renderingOf(&p.Records[0])
	}
	return p.live
}

// restartedAt is the annotation that `kubectl rollout restart` sets in a template.
const restartedAt = "kubectl.kubernetes.io/restartedAt"

// addRevision adds the rendering of a revision: its record, or else its live template. A revision that cannot be read counts as
// missing, which matters only if a pod has it.
func (p *planner) addRevision(revision *appsv1.ControllerRevision) {
	live, err := inputs.TemplateOf(revision)
	if err != nil {
		return
	}
	of := rendering{template: normalised(live), partial: true, restarted: live.Annotations[restartedAt]}
	if record := inputs.RecordOf(p.Records, revision); record != nil {
		of.template, of.partial = renderingOf(record), false
		p.addKeys(of.template)
	}
	p.renderings[revision.Name] = of
}

// renderingOf returns the pod template of a record.
func renderingOf(record *inputs.Record) *corev1.PodTemplateSpec {
	return normalised(owned.Convert[corev1.PodTemplateSpec](record.Template))
}

// addKeys adds the keys of the labels and annotations of a template.
func (p *planner) addKeys(template *corev1.PodTemplateSpec) {
	for key := range template.Labels {
		p.labels[key] = true
	}
	for key := range template.Annotations {
		p.annotations[key] = true
	}
}

// normalised returns a template without the memory for items, which is compared on its own, and with the requests that a pod gets
// from its limits.
func normalised(template *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	template = template.DeepCopy()
	delete(template.Annotations, agentapi.CacheMemoryAnnotation)
	if memcached := pods.Container(template.Spec.Containers, pod.MemcachedContainer); memcached != nil {
		requests := maps.Collect(maps.All(memcached.Resources.Limits))
		maps.Copy(requests, memcached.Resources.Requests)
		memcached.Resources.Requests = requests
	}
	return template
}

// templateOf returns the rendering of a revision, nil if the revision does not exist.
func (p *planner) templateOf(revision string) *corev1.PodTemplateSpec {
	if revision == p.revision {
		return p.template
	}
	return p.renderings[revision].template
}

// outdated returns the pods that are not up to date.
func (p *planner) outdated() []*member {
	return slices.DeleteFunc(slices.Clone(p.members), func(m *member) bool { return m.upToDate(p.revision) })
}
