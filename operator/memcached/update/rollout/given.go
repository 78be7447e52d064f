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

// givenTemplate returns the given rendering of a pod: template, the one of its revision, with the images, labels, annotations and
// resources of the revision that last changed them on the running pod. An image that the pod already has is the wanted one.
func (p *planner) givenTemplate(m *member, template *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	given := p.templateOf(m.givenRevision())
	if given == nil { // Unknown, so the result has the present values of the pod.
		given = &corev1.PodTemplateSpec{ObjectMeta: m.pod.ObjectMeta, Spec: m.pod.Spec}
	}
	result := template.DeepCopy()
	result.Labels, result.Annotations = entries(given.Labels, p.labels), entries(given.Annotations, p.annotations)
	p.setGivenImages(m, result.Spec.Containers, given.Spec.Containers)
	p.setGivenImages(m, result.Spec.InitContainers, given.Spec.InitContainers)
	p.setGivenResources(m, result)
	return result
}

// entries returns the labels or annotations with certain keys.
func entries(of map[string]string, keys map[string]bool) map[string]string {
	entries := map[string]string{}
	for key := range keys {
		if value, found := of[key]; found {
			entries[key] = value
		}
	}
	return entries
}

// setGivenImages sets the images for the given rendering.
func (p *planner) setGivenImages(m *member, result, given []corev1.Container) {
	for i := range result {
		container := &result[i]
		if before := pods.Container(given, container.Name); before != nil {
			container.Image = before.Image
		}
		if of := p.templateOf(m.agentRevision()); of != nil && container.Name == agentapi.AgentContainer {
			if agent := containerOf(&of.Spec, container.Name); agent != nil {
				container.Image = agent.Image
			}
		}
		present, live, wanted := containerOf(&m.pod.Spec, container.Name), containerOf(&p.live.Spec, container.Name), containerOf(&p.template.Spec, container.Name)
		if present != nil && live != nil && wanted != nil && present.Image == live.Image {
			container.Image = wanted.Image
		}
	}
}

// containerOf returns a container or init container, nil if there is none.
func containerOf(spec *corev1.PodSpec, name string) *corev1.Container {
	if container := pods.Container(spec.Containers, name); container != nil {
		return container
	}
	return pods.Container(spec.InitContainers, name)
}

// setGivenResources sets CPU and memory of memcached for the given rendering: those of the pod's revision, or the present ones while
// several revisions may have given them.
func (p *planner) setGivenResources(m *member, result *corev1.PodTemplateSpec) {
	present := pods.Container(m.pod.Spec.Containers, pod.MemcachedContainer)
	container := pods.Container(result.Spec.Containers, pod.MemcachedContainer)
	if present == nil || container == nil {
		return
	}
	wanted := p.memcached()
	for _, q := range quantities {
		switch {
		case p.gave(m, q):
			q.set(&container.Resources, &wanted.Resources)
		case m.update != nil:
			q.set(&container.Resources, &present.Resources)
		}
	}
}

// resizeOf returns the CPU and memory to change on a pod: where no revision has given the wanted value, and the pod does not have the
// value of the live template.
func (p *planner) resizeOf(m *member) corev1.ResourceRequirements {
	var resize corev1.ResourceRequirements
	present, live := pods.Container(m.pod.Spec.Containers, pod.MemcachedContainer), pods.Container(p.live.Spec.Containers, pod.MemcachedContainer)
	if present == nil || live == nil {
		return resize
	}
	for _, q := range quantities {
		if !p.gave(m, q) && !q.same(&present.Resources, &live.Resources) {
			q.set(&resize, &live.Resources)
		}
	}
	return resize
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
