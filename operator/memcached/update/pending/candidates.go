package pending

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
	"github.com/example/memcached-operator/operator/memcached/update/diff"
)

// candidates returns templates between the running and the wanted one, the one with most of what is wanted first.
func (q Input) candidates(wanted *Template) []*Template {
	var candidates []*Template
	if !q.choseImage() {
		candidates = append(candidates, withImageOf(q.Given.Template, wanted))
	}
	if before, err := q.Render(q.Given.Spec); err == nil {
		if merged, err := merge(q.Given.Template, before, wanted); err == nil {
			candidates = append(candidates, merged)
		}
	}
	return candidates
}

// withImageOf returns the wanted template with memcached's image of the running one: what most often keeps the rest waiting.
func withImageOf(running, wanted *Template) *Template {
	candidate := clone(wanted)
	if from, to := memcachedOf(running), memcachedOf(candidate); from != nil && to != nil {
		to.Image = from.Image
	}
	if candidate.ObjectMetaApplyConfiguration != nil {
		delete(candidate.Annotations, pod.VersionAnnotation)
	}
	if running.ObjectMetaApplyConfiguration == nil {
		return candidate
	}
	if version, told := running.Annotations[pod.VersionAnnotation]; told {
		candidate.WithAnnotations(map[string]string{pod.VersionAnnotation: version})
	}
	return candidate
}

// choseImage tells whether the user has said since what memcached to run.
func (q Input) choseImage() bool {
	return q.Spec.Image != q.Given.Spec.Image || q.Spec.Version != q.Given.Spec.Version
}

func memcachedOf(template *Template) *corev1ac.ContainerApplyConfiguration {
	if template.Spec == nil {
		return nil
	}
	for i := range template.Spec.Containers {
		if ptr.Deref(template.Spec.Containers[i].Name, "") == pod.MemcachedContainer {
			return &template.Spec.Containers[i]
		}
	}
	return nil
}

// merge returns the running template with what changed from before to wanted.
func merge(running, before, wanted *Template) (*Template, error) {
	var documents [3][]byte
	for i, template := range []*Template{running, before, wanted} {
		var err error
		if documents[i], err = json.Marshal(template); err != nil {
			return nil, err
		}
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(documents[1], documents[2], corev1.PodTemplateSpec{})
	if err != nil {
		return nil, err
	}
	merged, err := strategicpatch.StrategicMergePatch(documents[0], patch, corev1.PodTemplateSpec{})
	if err != nil {
		return nil, err
	}
	template := &Template{}
	return template, json.Unmarshal(merged, template)
}

func clone(template *Template) *Template { return owned.Convert[Template](template) }

// SameButImage tells whether a Deployment would run the same pods with both templates, but for memcached's image.
func SameButImage(a, b *Template) bool {
	_, class := Input{}.between(a, withImageOf(a, b))
	return class == diff.None
}

// read describes how pods of a template run.
func read(workload diff.Workload, template *Template) (diff.State, error) {
	return diff.Read(workload, owned.Convert[corev1.PodTemplateSpec](template))
}

// same tells whether two specs ask for the same pods.
func same(a, b v1alpha1.MemcachedSpec) bool {
	left, errLeft := json.Marshal(ForPods(a))
	right, errRight := json.Marshal(ForPods(b))
	return errLeft == nil && errRight == nil && string(left) == string(right)
}

// ForPods returns the part of a spec that pods are made from.
func ForPods(spec v1alpha1.MemcachedSpec) v1alpha1.MemcachedSpec {
	part := *spec.DeepCopy()
	part.Size = 0
	part.Updates, part.HitRatioGate, part.Service, part.Disruption, part.NetworkPolicy = nil, nil, nil, nil, nil
	if part.Monitoring != nil {
		part.Monitoring = &v1alpha1.MemcachedMonitoring{}
	}
	return part
}
