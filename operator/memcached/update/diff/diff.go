package diff

import (
	"cmp"
	"maps"
	"slices"

	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// Compare returns what has to change to bring a cache from the given state to the wanted one, sorted by field, and the worst
// class of these changes.
func Compare(given, wanted State, features inputs.Features) ([]Change, Class) {
	if given.Partial {
		given.Labels, given.Annotations = only(given.Labels, wanted.Labels), only(given.Annotations, wanted.Annotations)
	}
	c := comparison{given: given, wanted: wanted, features: features}
	var changes []Change
	for _, f := range fields {
		from, to := f.text(given), f.text(wanted)
		if from == to || given.Partial && to == "" {
			continue
		}
		class, reason := f.class(c)
		if class == None {
			continue
		}
		changes = append(changes, Change{Field: f.name, Class: class, Reason: reason, From: from, To: to})
	}
	changes = append(changes, rest(c)...)
	slices.SortFunc(changes, func(a, b Change) int { return cmp.Compare(a.Field, b.Field) })
	return changes, worst(changes)
}

func worst(changes []Change) Class {
	class := None
	for _, c := range changes {
		if c.Class.Worse(class) {
			class = c.Class
		}
	}
	return class
}

// only returns the entries whose keys wanted has.
func only(of, wanted map[string]string) map[string]string {
	result := maps.Clone(of)
	maps.DeleteFunc(result, func(key, _ string) bool { _, has := wanted[key]; return !has })
	return result
}
