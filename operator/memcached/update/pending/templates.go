package pending

import (
	"bytes"
	"cmp"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/update/diff"
)

// SameButImage reports whether a Deployment with one template would run the same pods as with the other, except for memcached's
// image.
func SameButImage(a, b *Template) bool {
	_, class := Input{Version: func(string) string { return "" }}.compare(a, withImageOf(a, b))
	return class == diff.None
}

// withImageOf returns the wanted template with memcached's given image, and with its version.
func withImageOf(given, wanted *Template) *Template {
	candidate := owned.Convert[Template](wanted).WithAnnotations(nil)
	image := ImagesOf(given)[pod.MemcachedContainer]
	for i, container := range containersOf(candidate) {
		if ptr.Deref(container.Name, "") == pod.MemcachedContainer && image != "" {
			candidate.Spec.Containers[i].Image = &image
		}
	}
	delete(candidate.Annotations, pod.VersionAnnotation)
	if given.ObjectMetaApplyConfiguration == nil {
		return candidate
	}
	if version, found := given.Annotations[pod.VersionAnnotation]; found {
		candidate.WithAnnotations(map[string]string{pod.VersionAnnotation: version})
	}
	return candidate
}

// withoutImagesOfRelease returns the wanted template with the given images, but for that of memcached if the user has changed it.
func (i Input) withoutImagesOfRelease(wanted *Template) *Template {
	given, candidate := ImagesOf(i.Given.Template), withImageOf(i.Given.Template, wanted)
	if i.choseImage() {
		candidate = owned.Convert[Template](wanted)
	}
	for at, container := range containersOf(candidate) {
		name := ptr.Deref(container.Name, "")
		if image, found := given[name]; found && name != pod.MemcachedContainer {
			candidate.Spec.Containers[at].Image = &image
		}
	}
	return candidate
}

// ImagesOf returns the images of a template by the names of the containers.
func ImagesOf(template *Template) map[string]string {
	images := map[string]string{}
	for _, container := range containersOf(template) {
		images[ptr.Deref(container.Name, "")] = ptr.Deref(container.Image, "")
	}
	return images
}

func containersOf(template *Template) []corev1ac.ContainerApplyConfiguration {
	if template == nil || template.Spec == nil {
		return nil
	}
	return template.Spec.Containers
}

// withUserChanges returns the given template with the changes of the wanted one that the user has asked for since, nil if they are
// unknown.
func (i Input) withUserChanges(wanted *Template) *Template {
	before, err := i.Render(i.Given.Spec)
	if err != nil {
		return nil
	}
	schema, merged := corev1.PodTemplateSpec{}, &Template{}
	patch, err := strategicpatch.CreateTwoWayMergePatch(encode(before), encode(wanted), schema)
	if err != nil {
		return nil
	}
	raw, err := strategicpatch.StrategicMergePatch(encode(i.Given.Template), patch, schema)
	if err != nil || json.Unmarshal(raw, merged) != nil {
		return nil
	}
	return merged
}

// encode returns a template as JSON.
func encode(template *Template) []byte {
	raw, _ := json.Marshal(template) // An apply configuration can always be encoded.
	return raw
}

// compare compares two templates of the workload.
func (i Input) compare(from, to *Template) ([]diff.Change, diff.Class) {
	if bytes.Equal(encode(from), encode(to)) {
		return nil, diff.None // Most reconciles change nothing, and to read templates takes time.
	}
	workload := diff.Deployment
	if inputs.StablePods(i.Spec) {
		workload = diff.StatefulSet
	}
	given, errGiven := read(workload, from)
	wanted, errWanted := read(workload, to)
	if err := cmp.Or(errGiven, errWanted); err != nil {
		return unreadable(err), diff.Cold
	}
	given.Version = cmp.Or(given.Version, i.Version(given.Image))
	wanted.Version = cmp.Or(wanted.Version, i.Version(wanted.Image))
	return diff.Compare(given, wanted, i.Features)
}

// read returns the state of pods with a template.
func read(workload diff.Workload, template *Template) (diff.State, error) {
	return diff.Read(workload, owned.Convert[corev1.PodTemplateSpec](template))
}

// unreadable is the change for a template that somebody else or a later version of the operator wrote.
func unreadable(err error) []diff.Change {
	return []diff.Change{{Field: "template", Class: diff.Cold,
		Reason: "The given template cannot be compared with the wanted one (" + err.Error() + "), so the items count as lost."}}
}

// same reports whether two specs ask for the same pods.
func same(a, b v1alpha1.MemcachedSpec) bool {
	return equality.Semantic.DeepEqual(ForPods(a), ForPods(b))
}

// ForPods returns the part of a spec that the pod template is rendered from.
func ForPods(spec v1alpha1.MemcachedSpec) v1alpha1.MemcachedSpec {
	part := *spec.DeepCopy()
	part.Size = 0
	part.Updates, part.HitRatioGate, part.Service, part.Disruption, part.NetworkPolicy = nil, nil, nil, nil, nil
	if part.Monitoring != nil {
		part.Monitoring = &v1alpha1.MemcachedMonitoring{}
	}
	return part
}
