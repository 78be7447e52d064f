package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/operator/memcached/update/diff"
)

// difference is the difference between a pod and the wanted template.
type difference struct {
	template      *corev1.PodTemplateSpec     // The given rendering of the pod, see givenTemplate.
	given, wanted diff.State                  // The given and the wanted rendering, for package diff.
	resize        corev1.ResourceRequirements // What to change on the pod.
	changes       []diff.Change
	class         diff.Class
	unrecorded    bool // There is no record of what the pod was given.
}

// difference compares a pod with the wanted template. It fails if the ControllerRevision of the pod does not exist or cannot be
// read.
func (p *planner) difference(m *member) (*difference, error) {
	template, found := p.templates[m.revision()]
	if !found {
		return nil, fmt.Errorf("its ControllerRevision %q does not exist", m.revision())
	}
	d := &difference{template: p.givenTemplate(m, template), wanted: p.wanted, resize: p.resizeOf(m), unrecorded: p.partial[m.revision()]}
	given, err := diff.Read(diff.StatefulSet, d.template)
	if err != nil {
		return nil, err
	}
	given.Version = cmp.Or(given.Version, p.Version(given.Image))
	if given.Arguments.MemoryFile == "" {
		given.Arguments.CacheMemory = p.cacheMemory(m, given.Arguments.CacheMemory)
	}
	given.Partial = d.unrecorded
	d.given = given
	d.changes, d.class = diff.Compare(given, p.wanted, p.Features)
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

// onePatch reports whether one patch of the pod makes all changes.
func (d *difference) onePatch() bool {
	return !slices.ContainsFunc(d.changes, func(c diff.Change) bool {
		return !slices.Contains([]string{"image", "agentImage", "labels", "annotations", "version"}, c.Field)
	})
}

// text lists the changes, for example "image 1.6.18 -> 1.6.45 (Warm), labels (Live)".
func (d *difference) text() string {
	var words []string
	for _, c := range d.changes {
		field := c.Field
		if (field == "image" || field == "version") && d.given.Version != "" && d.wanted.Version != "" && d.given.Version != d.wanted.Version {
			field += fmt.Sprintf(" %s -> %s", d.given.Version, d.wanted.Version)
		}
		words = append(words, fmt.Sprintf("%s (%s)", field, c.Class))
	}
	const most = 5
	if more := len(words) - most; more > 0 {
		words = append(words[:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(words, ", ")
}
