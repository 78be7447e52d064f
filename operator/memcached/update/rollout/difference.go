package rollout

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/kube/pods"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
	"github.com/example/memcached-operator/operator/memcached/update/diff"
)

// difference is the difference between a pod and the wanted template.
type difference struct {
	given, wanted diff.State // The given and the wanted rendering, for package diff.
	changes       []diff.Change
	class         diff.Class
	unrecorded    bool                        // There is no record of what the pod was given.
	edit          edit                        // The images, labels and annotations to change on the pod.
	restarts      map[string]string           // The IDs of the containers that this restarts, by their names.
	resize        corev1.ResourceRequirements // The CPU and memory to change on the pod.
}

// difference compares a pod with the wanted template. It fails if the ControllerRevision of the pod does not exist or cannot be
// read.
func (p *planner) difference(m *member) (*difference, error) {
	of, found := p.renderings[m.revision()]
	if !found {
		return nil, fmt.Errorf("its ControllerRevision %q does not exist", m.revision())
	}
	d := &difference{wanted: p.wanted, unrecorded: of.partial, restarts: map[string]string{}}
	template := p.givenTemplate(m, of.template)
	d.resize = p.setResources(m, template)
	var err error
	if d.given, err = diff.Read(diff.StatefulSet, template); err != nil {
		return nil, err
	}
	d.given.Version = cmp.Or(d.given.Version, p.Version(d.given.Image))
	if d.given.Arguments.MemoryFile == "" {
		d.given.Arguments.CacheMemory = p.cacheMemory(m, d.given.Arguments.CacheMemory)
	}
	d.given.Partial = d.unrecorded
	d.changes, d.class = diff.Compare(d.given, p.wanted, p.Features)
	d.edit = p.edit(m, template)
	for _, container := range d.edit.containers {
		d.restarts[container.Name] = m.container(container.Name).ContainerID
	}
	return d, nil
}

// resizes reports whether the resources of the pod change.
func (d *difference) resizes() bool { return len(d.resize.Limits)+len(d.resize.Requests) > 0 }

// changesCacheMemory reports whether the memory for items changes while memcached runs.
func (d *difference) changesCacheMemory() bool {
	return d.given.Arguments.CacheMemory != d.wanted.Arguments.CacheMemory && d.wanted.Arguments.MemoryFile == ""
}

// shrinks reports whether the wanted memory limit is less than the present one, and less than the one of a resize that is not done
// yet.
func (d *difference) shrinks(m *member) bool {
	least := d.given.Resources.MemoryLimit
	if limit := m.memoryLimit(); limit != 0 {
		least = min(least, limit)
	}
	return d.wanted.Resources.MemoryLimit < least
}

// onePatch reports whether one patch of the pod makes all changes. Those for its next replacement do not count.
func (d *difference) onePatch() bool {
	return !slices.ContainsFunc(d.changes, func(c diff.Change) bool {
		return c.Class != diff.NextReplacement && !slices.Contains([]string{"image", "agentImage", "labels", "annotations", "version"}, c.Field)
	})
}

// text lists the changes, for example "image 1.6.18 -> 1.6.45 (Warm), labels (Live)", and those for the next replacement of the pod only
// if there are no others.
func (d *difference) text() string {
	var words []string
	for _, c := range d.changes {
		field := c.Field
		if (field == "image" || field == "version") && d.given.Version != "" && d.wanted.Version != "" && d.given.Version != d.wanted.Version {
			field += fmt.Sprintf(" %s -> %s", d.given.Version, d.wanted.Version)
		}
		if c.Class != diff.NextReplacement {
			words = append(words, fmt.Sprintf("%s (%s)", field, c.Class))
		} else if d.class == diff.NextReplacement {
			words = append(words, field)
		}
	}
	const most = 5
	if more := len(words) - most; more > 0 {
		words = append(words[:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(words, ", ")
}

// givenTemplate returns the given rendering of a pod: template, the one of its revision, with the images, labels and annotations of the
// revision that last changed them on the running pod. An image that the pod already has is the wanted one.
func (p *planner) givenTemplate(m *member, template *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	given := p.templateOf(m.givenRevision())
	if given == nil { // Unknown, so the result has the present values of the pod.
		given = &corev1.PodTemplateSpec{ObjectMeta: m.pod.ObjectMeta, Spec: m.pod.Spec}
	}
	result := template.DeepCopy()
	result.Labels, result.Annotations = entries(given.Labels, p.labels), entries(given.Annotations, p.annotations)
	for i := range result.Spec.Containers {
		container := &result.Spec.Containers[i]
		if before := pods.Container(cmp.Or(p.templateOf(m.imageRevision(container.Name)), given).Spec.Containers, container.Name); before != nil {
			container.Image = before.Image
		}
		wanted := imageOf(&p.template.Spec, container.Name)
		if wanted != "" && imageOf(&m.pod.Spec, container.Name) == imageOf(&p.live.Spec, container.Name) {
			container.Image = wanted
		}
	}
	return result
}

// imageOf returns the image of a container, empty if there is no such container.
func imageOf(spec *corev1.PodSpec, container string) string {
	if found := pods.Container(spec.Containers, container); found != nil {
		return found.Image
	}
	return ""
}

// entries returns the labels or annotations with certain keys.
func entries(of map[string]string, keys map[string]bool) map[string]string {
	entries := maps.Clone(of)
	maps.DeleteFunc(entries, func(key, _ string) bool { return !keys[key] })
	return entries
}

// setResources sets CPU and memory of memcached in the given rendering of a pod: those of the pod's revision, or the present ones while
// several revisions may have given them. It returns what to change on the pod: where no revision has given the wanted value, and the
// pod does not have the value of the live template.
func (p *planner) setResources(m *member, rendering *corev1.PodTemplateSpec) corev1.ResourceRequirements {
	var resize corev1.ResourceRequirements
	given, present, live := resourcesOf(&rendering.Spec), resourcesOf(&m.pod.Spec), resourcesOf(&p.live.Spec)
	for _, q := range quantities {
		if p.gave(m, q) {
			q.copy(given, resourcesOf(&p.template.Spec))
			continue
		}
		if m.update != nil {
			q.copy(given, present)
		}
		if !q.same(present, live) {
			q.copy(&resize, live)
		}
	}
	return resize
}

// gave reports whether every revision that may have given the pod its resources has the wanted quantity.
func (p *planner) gave(m *member, q quantity) bool {
	for _, revision := range m.resourceRevisions() {
		template := p.templateOf(revision)
		if template == nil || !q.same(resourcesOf(&template.Spec), resourcesOf(&p.template.Spec)) {
			return false
		}
	}
	return true
}

// resourcesOf returns the resources of memcached, none if there is no such container.
func resourcesOf(spec *corev1.PodSpec) *corev1.ResourceRequirements {
	if container := pods.Container(spec.Containers, pod.MemcachedContainer); container != nil {
		return &container.Resources
	}
	return &corev1.ResourceRequirements{}
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
	list func(*corev1.ResourceRequirements) *corev1.ResourceList
	name corev1.ResourceName
}

var quantities = []quantity{
	{requests, corev1.ResourceCPU}, {requests, corev1.ResourceMemory}, {limits, corev1.ResourceCPU}, {limits, corev1.ResourceMemory},
}

func requests(of *corev1.ResourceRequirements) *corev1.ResourceList { return &of.Requests }
func limits(of *corev1.ResourceRequirements) *corev1.ResourceList   { return &of.Limits }

func (q quantity) same(a, b *corev1.ResourceRequirements) bool {
	first, inA := (*q.list(a))[q.name]
	second, inB := (*q.list(b))[q.name]
	return inA == inB && first.Cmp(second) == 0
}

func (q quantity) copy(to, from *corev1.ResourceRequirements) {
	delete(*q.list(to), q.name)
	if value, found := (*q.list(from))[q.name]; found {
		*q.list(to) = maps.Collect(maps.All(*q.list(to)))
		(*q.list(to))[q.name] = value
	}
}
