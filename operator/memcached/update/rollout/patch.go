package rollout

import (
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/memcached-operator/operator/kube/pods"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
	"github.com/example/memcached-operator/operator/memcached/update/diff"
)

// edit is what to change of a pod. Labels and annotations without a value are removed.
type edit struct {
	labels, annotations        map[string]*string
	containers, initContainers []partOfContainer
}

// partOfContainer is what can be changed of a container.
type partOfContainer struct {
	Name      string                       `json:"name"`
	Image     string                       `json:"image,omitempty"`
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
}

// partOfPod is a strategic merge patch of a pod. The UID and the version keep it from another pod than the one that was seen.
type partOfPod struct {
	Metadata struct {
		UID             types.UID          `json:"uid"`
		ResourceVersion string             `json:"resourceVersion"`
		Labels          map[string]*string `json:"labels,omitempty"`
		Annotations     map[string]*string `json:"annotations,omitempty"`
	} `json:"metadata"`
	Spec struct {
		Containers     []partOfContainer `json:"containers,omitempty"`
		InitContainers []partOfContainer `json:"initContainers,omitempty"`
	} `json:"spec,omitzero"`
}

// edit returns the images, labels and annotations that the pod has to get.
func (r *planner) edit(d *difference) edit {
	return edit{
		labels:         replacing(d.now.Labels, r.template.Labels, r.labels),
		annotations:    replacing(d.now.Annotations, r.template.Annotations, r.annotations),
		containers:     imagesOf(d.now.Spec.Containers, r.template.Spec.Containers),
		initContainers: imagesOf(d.now.Spec.InitContainers, r.template.Spec.InitContainers),
	}
}

// replacing returns what makes the entries with certain keys those that are wanted.
func replacing(now, wanted map[string]string, keys map[string]bool) map[string]*string {
	edits := map[string]*string{}
	for key := range keys {
		value, has := now[key]
		switch text, wants := wanted[key]; {
		case wants && (!has || value != text):
			edits[key] = &text
		case has && !wants:
			edits[key] = nil
		}
	}
	return edits
}

// imagesOf returns the containers that have another image than wanted, with the one that they have to get.
func imagesOf(now, wanted []corev1.Container) []partOfContainer {
	var parts []partOfContainer
	for i := range now {
		if container := pods.Container(wanted, now[i].Name); container != nil && container.Image != now[i].Image {
			parts = append(parts, partOfContainer{Name: container.Name, Image: container.Image})
		}
	}
	return parts
}

// finish ends a change in place: the pod is of the revision that is wanted.
func (r *planner) finish(n *member, d *difference, why string) (Step, error) {
	e := r.edit(d)
	e.containers, e.initContainers = nil, nil // Nothing is restarted any more.
	e.labels[appsv1.ControllerRevisionHashLabelKey] = &r.revision
	if n.update != nil {
		e.annotations[UpdateAnnotation] = nil
	}
	return r.patched(n, d.class, why, e)
}

// patched returns the step that makes an edit.
func (r *planner) patched(n *member, class diff.Class, why string, e edit) (Step, error) {
	content, err := e.content(n.pod)
	return Step{Kind: Patch, Pod: n.pod, Class: class, Message: why, After: soon, Patch: content}, err
}

// resize returns the step that gives memcached the CPU and memory in which it differs.
func (r *planner) resize(n *member, d *difference) (Step, error) {
	wanted, now := r.memcached(), pods.Container(d.now.Spec.Containers, pod.MemcachedContainer)
	resources := &corev1.ResourceRequirements{}
	for _, q := range quantities {
		if !q.same(&now.Resources, &wanted.Resources) {
			q.set(resources, &wanted.Resources)
		}
	}
	content, err := edit{containers: []partOfContainer{{Name: pod.MemcachedContainer, Resources: resources}}}.content(n.pod)
	return Step{Kind: Resize, Pod: n.pod, Class: d.class, After: soon, Patch: content,
		Message: fmt.Sprintf("%s is resized: %s", n.name(), d.text())}, err
}

func (e edit) content(pod *corev1.Pod) ([]byte, error) {
	var part partOfPod
	part.Metadata.UID, part.Metadata.ResourceVersion = pod.UID, pod.ResourceVersion
	part.Metadata.Labels, part.Metadata.Annotations = e.labels, e.annotations
	part.Spec.Containers, part.Spec.InitContainers = e.containers, e.initContainers
	content, err := json.Marshal(part)
	if err != nil {
		return nil, fmt.Errorf("encode the patch of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return content, nil
}
