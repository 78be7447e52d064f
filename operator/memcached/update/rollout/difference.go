package rollout

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/kube/pods"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
	"github.com/example/memcached-operator/operator/memcached/update/diff"
)

// difference is what separates a pod from the template that is wanted.
type difference struct {
	now             *corev1.PodTemplateSpec // What the pod has, as it counts.
	running, wanted diff.State              // The same and what is wanted, to be compared.
	changes         []diff.Change
	class           diff.Class
}

// difference compares a pod with what is wanted. The error says why that cannot be done.
func (r *planner) difference(n *member) (*difference, error) {
	template, found := r.templates[n.revision()]
	if !found {
		return nil, fmt.Errorf("its ControllerRevision %q does not exist", n.revision())
	}
	d := &difference{now: r.running(n, template), wanted: r.wanted}
	running, err := diff.Read(diff.StatefulSet, d.now)
	if err != nil {
		return nil, err
	}
	running.Version = cmp.Or(running.Version, r.version(running.Image))
	if running.Arguments.MemoryFile == "" {
		running.Arguments.CacheMemory = r.cacheMemory(n, running.Arguments.CacheMemory)
	}
	d.running = running
	d.changes, d.class = diff.Compare(running, r.wanted, r.Features)
	return d, nil
}

// normalised returns a template without what is compared by itself, and with the requests that a pod gets from its limits.
func normalised(template *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	template = template.DeepCopy()
	delete(template.Annotations, agentapi.CacheMemoryAnnotation)
	if memcached := pods.Container(template.Spec.Containers, pod.MemcachedContainer); memcached != nil {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			limit, limited := memcached.Resources.Limits[name]
			if _, requested := memcached.Resources.Requests[name]; limited && !requested {
				if memcached.Resources.Requests == nil {
					memcached.Resources.Requests = corev1.ResourceList{}
				}
				memcached.Resources.Requests[name] = limit
			}
		}
	}
	return template
}

// decode returns the template of a ControllerRevision, which holds it as a patch of the StatefulSet.
func decode(revision *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	var set struct {
		Spec struct {
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(revision.Data.Raw, &set); err != nil {
		return nil, err
	}
	return normalised(&set.Spec.Template), nil
}

// resizes tells whether the pod has other resources than wanted.
func (d *difference) resizes() bool { return d.running.Resources != d.wanted.Resources }

// memory tells whether the memory for items changes while memcached runs.
func (d *difference) memory() bool {
	return d.running.Arguments.CacheMemory != d.wanted.Arguments.CacheMemory && d.wanted.Arguments.MemoryFile == ""
}

// shrinks tells whether the memory limit becomes less than it is, and than an earlier resize that is not done yet makes it.
func (d *difference) shrinks(n *member) bool {
	least := d.running.Resources.MemoryLimit
	if limit := n.memoryLimit(); limit != 0 {
		least = min(least, limit)
	}
	return d.wanted.Resources.MemoryLimit < least
}

// onePatch tells whether one patch of the pod makes the whole difference.
func (d *difference) onePatch() bool {
	return !slices.ContainsFunc(d.changes, func(c diff.Change) bool {
		return !slices.Contains([]string{"image", "agentImage", "labels", "annotations", "version"}, c.Field)
	})
}

// text names what changes, for example "image 1.6.18 -> 1.6.45 (Warm), labels (Live)".
func (d *difference) text() string {
	var words []string
	for _, c := range d.changes {
		field := c.Field
		if (field == "image" || field == "version") && d.running.Version != "" && d.wanted.Version != "" && d.running.Version != d.wanted.Version {
			field += fmt.Sprintf(" %s -> %s", d.running.Version, d.wanted.Version)
		}
		words = append(words, fmt.Sprintf("%s (%s)", field, c.Class))
	}
	const most = 5
	if more := len(words) - most; more > 0 {
		words = append(words[:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(words, ", ")
}

func sortedKeys[V any](of map[string]V) []string { return slices.Sorted(maps.Keys(of)) }
