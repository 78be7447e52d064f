// Package timeline shows when what happens in a cluster, from the outside: each change of a condition, a phase or a number of pods, with the
// time at which a watch showed it.
package timeline

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// facts returns what an object says about itself, by what it is about.
func facts(object *unstructured.Unstructured) map[string]string {
	all := map[string]string{}
	for _, path := range []string{
		"status.phase", "status.state", "status.installedCSV", "status.updateRevision", "status.readyReplicas", "status.updatedReplicas", "spec.holderIdentity",
		"metadata.deletionTimestamp",
	} {
		fields := strings.Split(path, ".")
		value, found, err := unstructured.NestedFieldNoCopy(object.Object, fields...)
		if _, list := value.([]any); err == nil && found && !list {
			all[fields[len(fields)-1]] = fmt.Sprint(value)
		}
	}
	for _, conditions := range [][]string{{"status", "conditions"}, {"spec", "conditions"}} {
		for _, condition := range items(object.Object, conditions...) {
			kind, _ := condition["type"].(string)
			if kind == "" {
				continue // Those of a CSV are its history.
			}
			all[kind] = strings.TrimSuffix(fmt.Sprintf("%s (%s)", text(condition["status"]), text(condition["reason"])), " ()")
		}
	}
	for _, path := range [][]string{{"status", "initContainerStatuses"}, {"status", "containerStatuses"}} {
		for _, container := range items(object.Object, path...) {
			all["container "+text(container["name"])] = stateOf(container)
		}
	}
	return all
}

// stateOf says what a container does.
func stateOf(status map[string]any) string {
	states, _ := status["state"].(map[string]any)
	for state, details := range states {
		fields, _ := details.(map[string]any)
		if reason := text(fields["reason"]); reason != "" {
			state = reason
		}
		if status["ready"] == true {
			state += ", ready"
		}
		return state
	}
	return "unknown"
}

func items(object map[string]any, path ...string) []map[string]any {
	list, _, _ := unstructured.NestedSlice(object, path...) // Of another type, it is nothing that is shown.
	var all []map[string]any
	for _, item := range list {
		if fields, ok := item.(map[string]any); ok {
			all = append(all, fields)
		}
	}
	return all
}

func text(value any) string {
	text, _ := value.(string)
	return text
}

// changes returns what is new in facts, in a stable order.
func changes(before, now map[string]string) []string {
	var all []string
	for about, is := range now {
		if before[about] != is {
			all = append(all, about+": "+is)
		}
	}
	slices.Sort(all)
	return all
}
