package rollout

import (
	"cmp"
	"encoding/json"

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

	revision  string                             // The wanted one.
	live      *corev1.PodTemplateSpec            // The template of the StatefulSet, to which others may have added something.
	template  *corev1.PodTemplateSpec            // The wanted rendering.
	wanted    diff.State                         // The wanted rendering, for package diff.
	templates map[string]*corev1.PodTemplateSpec // The rendering of each revision.
	partial   map[string]bool                    // The revisions without a record: their renderings are their live templates.

	restarted map[string]string // When somebody asked for a restart of the pods of each revision.

	labels, annotations map[string]bool // The keys that any rendering has.

	members []*member // The wanted pods, the one with the highest ordinal first.
}

func newPlanner(i Input) (*planner, error) {
	p := &planner{
		Input: i, revision: i.StatefulSet.Status.UpdateRevision, live: normalised(&i.StatefulSet.Spec.Template),
		templates: map[string]*corev1.PodTemplateSpec{}, partial: map[string]bool{}, restarted: map[string]string{},
		labels: map[string]bool{}, annotations: map[string]bool{}, members: i.members(),
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
	if rendering := p.templates[p.revision]; rendering != nil && !p.partial[p.revision] {
		return rendering
	}
	if len(p.Records) > 0 {
		return renderingOf(&p.Records[0])
	}
	return p.live
}

// restartedAt is the annotation that `kubectl rollout restart` sets in a template.
const restartedAt = "kubectl.kubernetes.io/restartedAt"

// addRevision adds the rendering of a revision: its record, or else its live template, about which only the wanted fields are known
// to be the operator's. A revision that cannot be read counts as missing, which matters only if a pod has it.
func (p *planner) addRevision(revision *appsv1.ControllerRevision) {
	template, err := decode(revision)
	if err == nil {
		p.restarted[revision.Name] = template.Annotations[restartedAt]
	}
	if record := inputs.RecordOf(p.Records, revision); record != nil {
		p.templates[revision.Name] = renderingOf(record)
		p.addKeys(p.templates[revision.Name])
		return
	}
	if err == nil {
		p.templates[revision.Name], p.partial[revision.Name] = template, true
	}
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
	memcached := pods.Container(template.Spec.Containers, pod.MemcachedContainer)
	if memcached == nil {
		return template
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		limit, limited := memcached.Resources.Limits[name]
		if _, requested := memcached.Resources.Requests[name]; limited && !requested {
			if memcached.Resources.Requests == nil {
				memcached.Resources.Requests = corev1.ResourceList{}
			}
			memcached.Resources.Requests[name] = limit
		}
	}
	return template
}

// decode returns the template of a ControllerRevision, which holds it as a patch of the StatefulSet.
func decode(revision *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	var set struct {
		Spec struct {
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(revision.Data.Raw, &set); err != nil {
		return nil, err
	}
	return normalised(&set.Spec.Template), nil
}

// templateOf returns the rendering of a revision, nil if the revision does not exist.
func (p *planner) templateOf(revision string) *corev1.PodTemplateSpec {
	if revision == p.revision {
		return p.template
	}
	return p.templates[revision]
}

// memcached returns the wanted container of memcached. It exists: otherwise the template could not have been read.
func (p *planner) memcached() *corev1.Container {
	return pods.Container(p.template.Spec.Containers, pod.MemcachedContainer)
}

// outdated returns the pods that are not up to date.
func (p *planner) outdated() []*member {
	var outdated []*member
	for _, m := range p.members {
		if !m.upToDate(p.revision) {
			outdated = append(outdated, m)
		}
	}
	return outdated
}
