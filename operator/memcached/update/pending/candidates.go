package pending

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/update/diff"
)

// candidates returns templates between the given and the wanted one, the one with most of the wanted one first.
func (i Input) candidates(wanted *Template) []*Template {
	var candidates []*Template
	if !i.choseImage() {
		candidates = append(candidates, withImageOf(i.Given.Template, wanted))
	}
	if before, err := i.Render(i.Given.Spec); err == nil {
		if merged, err := merge(i.Given.Template, before, wanted); err == nil {
			candidates = append(candidates, merged)
		}
	}
	return candidates
}

// SameButImage reports whether a Deployment with one template would run the same pods as with the other, except for memcached's
// image.
func SameButImage(a, b *Template) bool {
	given, errGiven := read(diff.Deployment, a)
	wanted, errWanted := read(diff.Deployment, withImageOf(a, b))
	if errGiven != nil || errWanted != nil {
		return false
	}
	_, class := diff.Compare(given, wanted, inputs.Features{})
	return class == diff.None
}

// withImageOf returns the wanted template with memcached's image of the given one. The image is what most often loses items.
func withImageOf(given, wanted *Template) *Template {
	candidate := owned.Convert[Template](wanted)
	if from, to := memcachedOf(given), memcachedOf(candidate); from != nil && to != nil {
		to.Image = from.Image
	}
	if candidate.ObjectMetaApplyConfiguration != nil {
		delete(candidate.Annotations, pod.VersionAnnotation)
	}
	if given.ObjectMetaApplyConfiguration == nil {
		return candidate
	}
	if version, found := given.Annotations[pod.VersionAnnotation]; found {
		candidate.WithAnnotations(map[string]string{pod.VersionAnnotation: version})
	}
	return candidate
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

// merge returns the given template with the changes from before to wanted.
func merge(given, before, wanted *Template) (*Template, error) {
	var documents [3][]byte
	for i, template := range []*Template{given, before, wanted} {
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
