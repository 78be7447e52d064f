package rollout

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/kube/pods"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
	"github.com/example/memcached-operator/operator/memcached/update/diff"
)

// givenTemplate returns the given rendering of a pod: template, the one of its revision, with the present value of everything
// that can be changed on a running pod. Where an earlier template gave the pod the wanted value, the result has the wanted value,
// whatever the pod has: what an admission webhook or a person made of it is no difference. Labels and annotations that no revision
// has belong to others and are left out.
func (p *planner) givenTemplate(m *member, template *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	given := p.templateOf(m.givenRevision())
	if given == nil { // Unknown, so the result has the present values of the pod.
		given = &corev1.PodTemplateSpec{ObjectMeta: m.pod.ObjectMeta, Spec: m.pod.Spec}
	}
	result := template.DeepCopy()
	result.Labels = givenEntries(m.pod.Labels, given.Labels, p.template.Labels, p.labels)
	result.Annotations = givenEntries(m.pod.Annotations, given.Annotations, p.template.Annotations, p.annotations)
	setGivenImages(result.Spec.Containers, m.pod.Spec.Containers, given.Spec.Containers, p.template.Spec.Containers)
	setGivenImages(result.Spec.InitContainers, m.pod.Spec.InitContainers, given.Spec.InitContainers, p.template.Spec.InitContainers)
	p.setGivenResources(m, result)
	return result
}

// givenEntries returns the labels or annotations with certain keys for the given rendering. present are those of the pod.
func givenEntries(present, given, wanted map[string]string, keys map[string]bool) map[string]string {
	entries := map[string]string{}
	for key := range keys {
		value, found := present[key]
		had, has := given[key]
		if text, wants := wanted[key]; has == wants && had == text {
			value, found = text, wants
		}
		if found {
			entries[key] = value
		}
	}
	return entries
}

// setGivenImages sets the images for the given rendering. present are the containers of the pod.
func setGivenImages(result, present, given, wanted []corev1.Container) {
	for i := range result {
		container := &result[i]
		present, given, wanted := pods.Container(present, container.Name), pods.Container(given, container.Name), pods.Container(wanted, container.Name)
		switch {
		case given != nil && wanted != nil && given.Image == wanted.Image:
			container.Image = wanted.Image
		case present != nil:
			container.Image = present.Image
		}
	}
}

// setGivenResources sets CPU and memory of memcached for the given rendering.
func (p *planner) setGivenResources(m *member, result *corev1.PodTemplateSpec) {
	present := pods.Container(m.pod.Spec.Containers, pod.MemcachedContainer)
	container := pods.Container(result.Spec.Containers, pod.MemcachedContainer)
	if present == nil || container == nil {
		return
	}
	wanted := p.memcached()
	for _, q := range quantities {
		q.set(&container.Resources, &present.Resources)
		if p.gave(m, q) {
			q.set(&container.Resources, &wanted.Resources)
		}
	}
}

// gave reports whether every revision that may have given the pod its resources has the wanted quantity.
func (p *planner) gave(m *member, q quantity) bool {
	wanted := p.memcached()
	for _, revision := range m.resourceRevisions() {
		template := p.templateOf(revision)
		if template == nil {
			return false
		}
		given := pods.Container(template.Spec.Containers, pod.MemcachedContainer)
		if given == nil || !q.same(&given.Resources, &wanted.Resources) {
			return false
		}
	}
	return true
}

// cacheMemory returns the memory for items in the given rendering, in MiB. argument is the one in the pod's arguments.
func (p *planner) cacheMemory(m *member, argument int64) int64 {
	if template := p.templateOf(m.givenRevision()); template != nil {
		given, err := diff.Read(diff.StatefulSet, template)
		if err == nil && given.Arguments.CacheMemory == p.wanted.Arguments.CacheMemory {
			return p.wanted.Arguments.CacheMemory
		}
	}
	if memory, err := strconv.ParseInt(m.pod.Annotations[agentapi.CacheMemoryAnnotation], 10, 64); err == nil {
		return memory
	}
	return argument
}

// quantity is a request or limit that can be changed on a running pod.
type quantity struct {
	limit bool // A limit; otherwise a request.
	name  corev1.ResourceName
}

var quantities = []quantity{
	{false, corev1.ResourceCPU}, {false, corev1.ResourceMemory}, {true, corev1.ResourceCPU}, {true, corev1.ResourceMemory},
}

func (q quantity) list(of *corev1.ResourceRequirements) *corev1.ResourceList {
	if q.limit {
		return &of.Limits
	}
	return &of.Requests
}

func (q quantity) of(resources *corev1.ResourceRequirements) (resource.Quantity, bool) {
	value, found := (*q.list(resources))[q.name]
	return value, found
}

func (q quantity) same(a, b *corev1.ResourceRequirements) bool {
	first, inA := q.of(a)
	second, inB := q.of(b)
	return inA == inB && first.Cmp(second) == 0
}

// set copies the quantity from other resources.
func (q quantity) set(to, from *corev1.ResourceRequirements) {
	list := q.list(to)
	delete(*list, q.name)
	if value, found := q.of(from); found {
		if *list == nil {
			*list = corev1.ResourceList{}
		}
		(*list)[q.name] = value
	}
}
