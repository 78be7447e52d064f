package rollout

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

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
	labels, annotations        map[string]*string
	containers, initContainers []containerPatch
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
		Containers     []containerPatch `json:"containers,omitempty"`
		InitContainers []containerPatch `json:"initContainers,omitempty"`
	} `json:"spec,omitzero"`
}

// edit returns the images, labels and annotations to change on the pod: those in which the given and the wanted rendering differ, with
// the values of the live template, or with the images that were pulled on its node.
func (p *planner) edit(m *member, d *difference) edit {
	e := edit{
		labels:         entriesToChange(d.template.Labels, p.template.Labels, p.live.Labels, p.labels),
		annotations:    entriesToChange(d.template.Annotations, p.template.Annotations, p.live.Annotations, p.annotations),
		containers:     imagesToChange(d.template.Spec.Containers, p.template.Spec.Containers, p.live.Spec.Containers),
		initContainers: imagesToChange(d.template.Spec.InitContainers, p.template.Spec.InitContainers, p.live.Spec.InitContainers),
	}
	for i := range e.containers {
		container := &e.containers[i]
		container.Image = cmp.Or(p.pulled(m, pods.Container(p.template.Spec.Containers, container.Name)), container.Image)
	}
	return e
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

// imagesToChange returns the containers whose image is not the wanted one, with the image of the live template.
func imagesToChange(given, wanted, live []corev1.Container) []containerPatch {
	var patches []containerPatch
	for i := range given {
		container, source := pods.Container(wanted, given[i].Name), pods.Container(live, given[i].Name)
		if container != nil && source != nil && container.Image != given[i].Image {
			patches = append(patches, containerPatch{Name: container.Name, Image: source.Image})
		}
	}
	return patches
}

// restarts returns the IDs of the containers that a patch is going to restart, by their names.
func (p *planner) restarts(m *member, d *difference) map[string]string {
	restarts, e := map[string]string{}, p.edit(m, d)
	for _, container := range slices.Concat(e.containers, e.initContainers) {
		restarts[container.Name] = m.container(container.Name).ContainerID
	}
	return restarts
}

// finish returns the step that ends an update in place: the pod gets the label with the wanted revision.
func (p *planner) finish(m *member, d *difference, message string) (Step, error) {
	e := p.edit(m, d)
	e.containers, e.initContainers = nil, nil // Nothing restarts any more.
	e.labels[appsv1.ControllerRevisionHashLabelKey] = &p.revision
	if m.update != nil {
		e.annotations[UpdateAnnotation] = nil
	}
	if _, announced := m.pod.Annotations[inputs.AgentRestartAnnotation]; announced {
		e.annotations[inputs.AgentRestartAnnotation] = nil
	}
	if name := p.live.Annotations[owned.RecordAnnotation]; name != m.pod.Annotations[owned.RecordAnnotation] {
		e.annotations[owned.RecordAnnotation] = ptrUnlessEmpty(name)
	}
	return p.patchStep(m, message, e)
}

// ptrUnlessEmpty returns nil for an empty text, which removes an annotation.
func ptrUnlessEmpty(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// patchStep returns the step that makes an edit.
func (p *planner) patchStep(m *member, message string, e edit) (Step, error) {
	patch, err := e.patch(m.pod)
	return Step{Kind: Patch, Pod: m.pod, Message: message, After: soon, Patch: patch}, err
}

// resize returns the step that changes the CPU and memory of memcached.
func (p *planner) resize(m *member, d *difference) (Step, error) {
	patch, err := edit{containers: []containerPatch{{Name: pod.MemcachedContainer, Resources: &d.resize}}}.patch(m.pod)
	return Step{Kind: Resize, Pod: m.pod, After: soon, Patch: patch, Message: fmt.Sprintf("%s is resized: %s", m.name(), d.text())}, err
}

// patch returns the edit as a patch of a pod.
func (e edit) patch(pod *corev1.Pod) ([]byte, error) {
	var patch podPatch
	patch.Metadata.UID, patch.Metadata.ResourceVersion = pod.UID, pod.ResourceVersion
	patch.Metadata.Labels, patch.Metadata.Annotations = e.labels, e.annotations
	patch.Spec.Containers, patch.Spec.InitContainers = e.containers, e.initContainers
	content, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encode the patch of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return content, nil
}
