package oracle

import (
	"encoding/base64"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// State is every field of every object of a namespace, by the name of the object and the path of the field. What each run gives other
// values is left out or replaced: names of the namespace and of pods, UIDs, times, revisions and addresses of the cluster.
type State map[string]string

var (
	randomNames = regexp.MustCompile(`-template(\d+)-[bcdfghjklmnpqrstvwxz2456789]{5}\b`)
	moments     = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	addresses   = regexp.MustCompile(`\b10\.0\.\d{1,3}\.\d{1,3}\b`)
	containers  = regexp.MustCompile(`containerd://\w+`)
)

// unstable are the fields that have another value in each run.
var unstable = []string{"metadata.uid", "metadata.resourceVersion", "metadata.generateName"}

// templates number the pod templates of Deployments in the order in which they were seen, by the hash that Kubernetes gives them. The hash
// differs between runs if the template contains something that does.
type templates map[string]string

// see numbers the template of an object, if it has one.
func (t templates) see(object *unstructured.Unstructured) {
	if hash := object.GetLabels()["pod-template-hash"]; hash != "" && t[hash] == "" {
		t[hash] = fmt.Sprintf("template%d", len(t)+1)
	}
}

// replace replaces the hashes, and the random parts of the names of pods.
func (t templates) replace(text string) string {
	for hash, name := range t {
		text = strings.ReplaceAll(text, hash, name)
	}
	return randomNames.ReplaceAllString(text, "-template$1-*")
}

// key names an object, for example "deployments/cache". The pods of a Deployment, whose names differ between runs, have the same one.
func (t templates) key(resource string, object *unstructured.Unstructured) string {
	return resource + "/" + t.replace(object.GetName())
}

// take returns the state of the objects of a namespace, by resource.
func take(namespace string, seen templates, objects map[string][]*unstructured.Unstructured) State {
	names := map[types.UID]string{}
	for resource, all := range objects {
		for _, object := range all {
			names[object.GetUID()] = seen.key(resource, object)
		}
	}
	replace := func(text string) string {
		for uid, name := range names {
			text = strings.ReplaceAll(text, string(uid), "UID of "+name)
		}
		text = seen.replace(strings.ReplaceAll(text, namespace, "NAMESPACE"))
		text = moments.ReplaceAllString(text, "TIME")
		text = containers.ReplaceAllString(text, "CONTAINER")
		return addresses.ReplaceAllString(text, "ADDRESS")
	}
	state, numbers := State{}, map[string]int{}
	for _, resource := range slices.Sorted(maps.Keys(objects)) {
		sorted := slices.SortedFunc(slices.Values(objects[resource]), func(a, b *unstructured.Unstructured) int {
			return strings.Compare(a.GetName(), b.GetName())
		})
		for _, object := range sorted {
			key := seen.key(resource, object)
			numbers[key]++
			if numbers[key] > 1 {
				key += fmt.Sprintf(" %d", numbers[key])
			}
			flatten(state, key+": ", "", decoded(object).Object, replace)
			for _, path := range unstable {
				delete(state, key+": "+path)
			}
			state[key+": managers"] = replace(managers(object))
		}
	}
	return state
}

// decoded returns a Secret with its data as text, and every other object as it is.
func decoded(object *unstructured.Unstructured) *unstructured.Unstructured {
	data, found, _ := unstructured.NestedStringMap(object.Object, "data")
	if object.GetKind() != "Secret" || !found {
		return object
	}
	for name, encoded := range data {
		if text, err := base64.StdEncoding.DecodeString(encoded); err == nil {
			data[name] = string(text)
		}
	}
	object = object.DeepCopy()
	_ = unstructured.SetNestedStringMap(object.Object, data, "data") // It was a map of strings.
	return object
}

// flatten adds all fields of a value.
func flatten(state State, object, path string, value any, replace func(string) string) {
	switch value := value.(type) {
	case map[string]any:
		if len(value) == 0 {
			state[object+replace(path)] = "{}" // It may mean something, as that of a selector does.
		}
		for name, field := range value {
			if path == "metadata" && name == "managedFields" {
				continue
			}
			flatten(state, object, strings.TrimPrefix(path+"."+name, "."), field, replace)
		}
	case []any:
		state[object+path+" (length)"] = fmt.Sprint(len(value))
		for i, element := range value {
			key := fmt.Sprint(i)
			if fields, ok := element.(map[string]any); ok && strings.HasSuffix(path, "status.conditions") {
				key = fmt.Sprint(fields["type"]) // Their order says what was first.
			}
			flatten(state, object, fmt.Sprintf("%s[%s]", path, key), element, replace)
		}
	default:
		state[object+replace(path)] = replace(fmt.Sprint(value))
	}
}

// managers says who owns which fields: a field that nobody gives up stays forever.
func managers(object *unstructured.Unstructured) string {
	var all []string
	for _, entry := range object.GetManagedFields() {
		fields := ""
		if entry.FieldsV1 != nil && entry.Operation == metav1.ManagedFieldsOperationApply {
			fields = " " + entry.FieldsV1.GetRawString()
		}
		all = append(all, fmt.Sprintf("%s %s %s%s", entry.Manager, entry.Operation, entry.Subresource, fields))
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}
