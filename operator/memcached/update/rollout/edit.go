package rollout

import (
	"cmp"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/pods"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// edit is a change of a pod. Labels and annotations with the value nil are removed.
type edit struct {
	labels, annotations map[string]*string
	containers          []containerPatch
}

// containerPatch is the part of a container that can be changed.
type containerPatch struct {
	Name      string                       `json:"name"`
	Image     string                       `json:"image,omitempty"`
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
}

// podPatch is a strategic merge patch of a pod. The UID and the resource version make sure that it applies only to the pod as it
// was observed.
type podPatch struct {
	Metadata struct {
		UID             types.UID          `json:"uid"`
		ResourceVersion string             `json:"resourceVersion"`
		Labels          map[string]*string `json:"labels,omitempty"`
		Annotations     map[string]*string `json:"annotations,omitempty"`
	} `json:"metadata"`
	Spec struct {
		Containers []containerPatch `json:"containers,omitempty"`
	} `json:"spec,omitzero"`
}

// edit returns the images, labels and annotations to change on a pod: those in which the given and the wanted rendering differ, with
// the values of the live template, or with the images that were pulled on its node.
func (p *planner) edit(m *member, given *corev1.PodTemplateSpec) edit {
	e := edit{
		labels:      entriesToChange(given.Labels, p.template.Labels, p.live.Labels, p.labels),
		annotations: entriesToChange(given.Annotations, p.template.Annotations, p.live.Annotations, p.annotations),
	}
	for _, before := range given.Spec.Containers {
		wanted, live := pods.Container(p.template.Spec.Containers, before.Name), pods.Container(p.live.Spec.Containers, before.Name)
		if wanted != nil && live != nil && wanted.Image != before.Image {
			e.containers = append(e.containers, containerPatch{Name: wanted.Name, Image: cmp.Or(p.pulled(m, wanted), live.Image)})
		}
	}
	return e
}

// entriesToChange returns the changes that bring the entries with certain keys to the wanted values, as the live template has them.
func entriesToChange(given, wanted, live map[string]string, keys map[string]bool) map[string]*string {
	edits := map[string]*string{}
	for key := range keys {
		value, has := given[key]
		switch text, wants := wanted[key]; {
		case wants && (!has || value != text):
			text = cmp.Or(live[key], text)
			edits[key] = &text
		case has && !wants:
			edits[key] = nil
		}
	}
	return edits
}

// pulled returns the image of a container as it was pulled on the node of a pod, empty if it was not: an admission policy may change
// the images of pods when they are created, and not when they are patched.
func (p *planner) pulled(m *member, wanted *corev1.Container) string {
	for i := range p.PullPods {
		pull := &p.PullPods[i]
		container := pods.Container(pull.Spec.Containers, wanted.Name)
		_, done := inputs.PullOf(pull, p.Now)
		if done && pull.Spec.NodeName == m.pod.Spec.NodeName && container != nil &&
			inputs.PulledBy(pull) == (inputs.Pulled{Container: wanted.Name, Image: wanted.Image}) {
			return container.Image
		}
	}
	return ""
}

// finish returns the step that ends an update in place: the pod gets the label with the wanted revision.
func (p *planner) finish(m *member, d *difference, message string) *Step {
	e := d.edit
	e.containers = nil // Nothing restarts any more.
	e.labels[appsv1.ControllerRevisionHashLabelKey] = &p.revision
	for _, key := range []string{UpdateAnnotation, inputs.AgentRestartAnnotation} {
		if _, found := m.pod.Annotations[key]; found {
			e.annotations[key] = nil
		}
	}
	if name := p.live.Annotations[owned.RecordAnnotation]; name != m.pod.Annotations[owned.RecordAnnotation] {
		if e.annotations[owned.RecordAnnotation] = &name; name == "" {
			e.annotations[owned.RecordAnnotation] = nil
		}
	}
	step := patchStep(m, message, e)
	step.Finishes = true
	return step
}

// patchStep returns the step that makes an edit.
func patchStep(m *member, message string, e edit) *Step {
	return &Step{Kind: Patch, Pod: m.pod, Message: message, After: soon, Patch: e.patch(m.pod)}
}

// resize returns the step that changes the CPU and memory of memcached.
func resize(m *member, d *difference) *Step {
	e := edit{containers: []containerPatch{{Name: pod.MemcachedContainer, Resources: &d.resize}}}
	return &Step{Kind: Resize, Pod: m.pod, After: soon, Patch: e.patch(m.pod), Message: fmt.Sprintf("%s is resized: %s", m.name(), d.text())}
}

// patch returns the edit as a patch of a pod.
func (e edit) patch(pod *corev1.Pod) []byte {
	var patch podPatch
	patch.Metadata.UID, patch.Metadata.ResourceVersion = pod.UID, pod.ResourceVersion
	patch.Metadata.Labels, patch.Metadata.Annotations, patch.Spec.Containers = e.labels, e.annotations, e.containers
	content, _ := json.Marshal(patch) // Texts and quantities can always be encoded.
	return content
}
