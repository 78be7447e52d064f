package oracle

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// History is what has happened to the objects of a namespace.
type History struct {
	mutex   sync.Mutex
	objects map[string]map[types.UID]*unstructured.Unstructured // By resource.
	created map[string]int
	deleted map[string]int
	broken  []string
	sizes   map[int64]bool
	once    map[int64]bool // The sizes that are allowed for one change.
	changes int
	seen    templates
	state   State // Of the last call, nil if there was a change since.
}

// NewHistory returns an empty history.
func NewHistory() *History {
	return &History{
		objects: map[string]map[types.UID]*unstructured.Unstructured{}, created: map[string]int{}, deleted: map[string]int{}, sizes: map[int64]bool{}, once: map[int64]bool{},
		seen: templates{},
	}
}

// Allow says that users ask for that many pods from now on.
func (h *History) Allow(size int64) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.sizes[size] = true
}

// AllowOnce says that somebody scales a workload to that many pods, once.
func (h *History) AllowOnce(size int64) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.once[size] = true
}

// Forget says that users ask no more for the numbers of pods that they have asked for.
func (h *History) Forget() {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	clear(h.sizes)
}

// Set records a new or changed object. What may never be, whatever else happens, is remembered as broken.
func (h *History) Set(resource string, object *unstructured.Unstructured) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.changes++
	h.state = nil
	h.seen.see(object)
	if h.objects[resource] == nil {
		h.objects[resource] = map[types.UID]*unstructured.Unstructured{}
	}
	before := h.objects[resource][object.GetUID()]
	h.objects[resource][object.GetUID()] = object
	key := h.seen.key(resource, object)
	if before == nil {
		h.created[key]++
	}
	controllers := 0
	for _, owner := range object.GetOwnerReferences() {
		if owner.Controller != nil && *owner.Controller {
			controllers++
		}
	}
	if controllers > 1 {
		h.broken = append(h.broken, fmt.Sprintf("%s has %d controllers", key, controllers))
	}
	if isForeign(object) && (controllers > 0 || before != nil && !sameContent(before, object)) {
		h.broken = append(h.broken, key+" belongs to somebody else, and was changed or adopted")
	}
	if resource == "deployments" || resource == "statefulsets" {
		h.checkSize(key, before, object)
	}
	h.checkEndpoints(key, object)
}

// ForeignLabel marks objects that do not belong to the operator. Somebody else removes it before they delete theirs.
const ForeignLabel = "test.example.com/foreign"

func isForeign(object *unstructured.Unstructured) bool { return object.GetLabels()[ForeignLabel] != "" }

// sameContent reports whether two states of an object say the same, but for what Kubernetes' controllers note in it.
func sameContent(one, other *unstructured.Unstructured) bool {
	return equality.Semantic.DeepEqual(content(one), content(other))
}

func content(object *unstructured.Unstructured) map[string]any {
	object = object.DeepCopy()
	for _, field := range []string{"managedFields", "resourceVersion", "generation"} {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(object.Object, "metadata", "annotations", "deployment.kubernetes.io/revision")
	if len(object.GetAnnotations()) == 0 {
		object.SetAnnotations(nil)
	}
	unstructured.RemoveNestedField(object.Object, "status")
	return object.Object
}

func (h *History) checkSize(key string, before, now *unstructured.Unstructured) {
	is, _, _ := unstructured.NestedInt64(now.Object, "spec", "replicas")
	if before == nil {
		if !isForeign(now) && !h.sizes[is] {
			h.broken = append(h.broken, fmt.Sprintf("%s was created with %d pods, which nobody asked for", key, is))
		}
		return
	}
	was, _, _ := unstructured.NestedInt64(before.Object, "spec", "replicas")
	if is == was {
		return
	}
	if !h.once[is] && !h.sizes[is] {
		h.broken = append(h.broken, fmt.Sprintf("%s was scaled from %d to %d pods, which nobody asked for", key, was, is))
	}
	delete(h.once, is)
}

// checkEndpoints remembers a cache that is reported as Ready together with a pod that is not.
func (h *History) checkEndpoints(key string, object *unstructured.Unstructured) {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	isReady := func(condition any) bool {
		fields, _ := condition.(map[string]any)
		return fields["type"] == "Ready" && fields["status"] == "True"
	}
	if !slices.ContainsFunc(conditions, isReady) {
		return
	}
	endpoints, _, _ := unstructured.NestedSlice(object.Object, "status", "endpoints")
	for _, endpoint := range endpoints {
		if fields, _ := endpoint.(map[string]any); fields["ready"] != true {
			h.broken = append(h.broken, fmt.Sprintf("%s is reported as Ready, and its pod %v as not ready", key, fields["pod"]))
		}
	}
}

// Find returns the object of a name, nil if there is none.
func (h *History) Find(resource, name string) *unstructured.Unstructured {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, object := range h.objects[resource] {
		if object.GetName() == name {
			return object
		}
	}
	return nil
}

// All returns the objects of a resource.
func (h *History) All(resource string) []*unstructured.Unstructured {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return slices.Collect(maps.Values(h.objects[resource]))
}

// Count returns how many objects exist.
func (h *History) Count() int {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	n := 0
	for _, objects := range h.objects {
		n += len(objects)
	}
	return n
}

// Delete records that an object is gone.
func (h *History) Delete(resource string, object *unstructured.Unstructured) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.changes++
	h.state = nil
	delete(h.objects[resource], object.GetUID())
	key := h.seen.key(resource, object)
	h.deleted[key]++
	if isForeign(object) {
		h.broken = append(h.broken, key+" belongs to somebody else, and was deleted")
	}
}

// Changes returns how many events there were.
func (h *History) Changes() int {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.changes
}

// Broken returns what may never be, and was.
func (h *History) Broken() []string {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return slices.Clone(h.broken)
}

// State returns the state of all objects that exist.
func (h *History) State(namespace string) State {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.state != nil {
		return h.state
	}
	objects := map[string][]*unstructured.Unstructured{}
	for resource, all := range h.objects {
		objects[resource] = slices.Collect(maps.Values(all))
	}
	h.state = take(namespace, h.seen, objects)
	return h.state
}

// Counts returns how often each object was created and deleted.
func (h *History) Counts() Counts {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return Counts{Created: maps.Clone(h.created), Deleted: maps.Clone(h.deleted)}
}

// Counts says how often each object was created and deleted.
type Counts struct{ Created, Deleted map[string]int }

// Differences says which objects were created or deleted more or less often than in all of the given runs, without those for which allowed
// returns true. If events may be missing, less often is no difference.
func (c Counts) Differences(runs []Counts, allowed func(key string) bool, missing bool) []string {
	var all []string
	for _, side := range []struct {
		name string
		of   func(Counts) map[string]int
	}{{"created", func(c Counts) map[string]int { return c.Created }}, {"deleted", func(c Counts) map[string]int { return c.Deleted }}} {
		keys := maps.Clone(side.of(c))
		for _, run := range runs {
			maps.Copy(keys, side.of(run))
		}
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			is := side.of(c)[key]
			as := func(run Counts) bool { return side.of(run)[key] == is || missing && side.of(run)[key] > is }
			if allowed != nil && allowed(key) || slices.ContainsFunc(runs, as) {
				continue
			}
			all = append(all, fmt.Sprintf("%s was %s %d times, without a fault %d times", key, side.name, is, side.of(runs[0])[key]))
		}
	}
	return all
}
