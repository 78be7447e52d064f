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

// running returns the template of a pod with what the pod now has of everything that can be changed on it. Where the pod was
// given by an earlier template what is wanted, that counts, whatever the pod has: what an admission webhook or a person made
// of it is no difference. Labels and annotations of others are left out: those that no revision has.
func (r *planner) running(n *member, template *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	given := r.templateOf(n.given())
	if given == nil { // Then only what the pod has itself counts.
		given = &corev1.PodTemplateSpec{ObjectMeta: n.pod.ObjectMeta, Spec: n.pod.Spec}
	}
	now := template.DeepCopy()
	now.Labels = current(n.pod.Labels, given.Labels, r.template.Labels, r.labels)
	now.Annotations = current(n.pod.Annotations, given.Annotations, r.template.Annotations, r.annotations)
	for _, lists := range [][4][]corev1.Container{
		{now.Spec.Containers, n.pod.Spec.Containers, given.Spec.Containers, r.template.Spec.Containers},
		{now.Spec.InitContainers, n.pod.Spec.InitContainers, given.Spec.InitContainers, r.template.Spec.InitContainers},
	} {
		for i := range lists[0] {
			container := &lists[0][i]
			own := pods.Container(lists[1], container.Name)
			given, wanted := pods.Container(lists[2], container.Name), pods.Container(lists[3], container.Name)
			switch {
			case given != nil && wanted != nil && given.Image == wanted.Image:
				container.Image = wanted.Image
			case own != nil:
				container.Image = own.Image
			}
		}
	}
	r.resources(n, now)
	return now
}

// templateOf returns the template of a revision, nil if it does not exist.
func (r *planner) templateOf(revision string) *corev1.PodTemplateSpec {
	if revision == r.revision {
		return r.template
	}
	return r.templates[revision]
}

// current returns the entries with certain keys as they count.
func current(own, given, wanted map[string]string, keys map[string]bool) map[string]string {
	entries := map[string]string{}
	for key := range keys {
		value, found := own[key]
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

// resources sets CPU and memory of memcached to those that count.
func (r *planner) resources(n *member, now *corev1.PodTemplateSpec) {
	own := pods.Container(n.pod.Spec.Containers, pod.MemcachedContainer)
	container := pods.Container(now.Spec.Containers, pod.MemcachedContainer)
	if own == nil || container == nil {
		return
	}
	wanted := r.memcached()
	for _, q := range quantities {
		q.set(&container.Resources, &own.Resources)
		if r.gave(n, q) {
			q.set(&container.Resources, &wanted.Resources)
		}
	}
}

// gave tells whether the pod was given the quantity that is wanted, by whichever template.
func (r *planner) gave(n *member, q quantity) bool {
	wanted := r.memcached()
	for _, revision := range n.sizes() {
		template := r.templateOf(revision)
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

// memcached returns its container as it is wanted. There is one: otherwise the template could not have been read.
func (r *planner) memcached() *corev1.Container {
	return pods.Container(r.template.Spec.Containers, pod.MemcachedContainer)
}

// cacheMemory returns the memory for items that counts, in MiB. argument is that of the pod's arguments.
func (r *planner) cacheMemory(n *member, argument int64) int64 {
	if template := r.templateOf(n.given()); template != nil {
		given, err := diff.Read(diff.StatefulSet, template)
		if err == nil && given.Arguments.CacheMemory == r.wanted.Arguments.CacheMemory {
			return r.wanted.Arguments.CacheMemory
		}
	}
	if memory, err := strconv.ParseInt(n.pod.Annotations[agentapi.CacheMemoryAnnotation], 10, 64); err == nil {
		return memory
	}
	return argument
}

// quantity is one that can be changed on a running pod.
type quantity struct {
	limit bool // Or a request.
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

// set makes the quantity that of other resources.
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
