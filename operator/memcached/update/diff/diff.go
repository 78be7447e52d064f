package diff

import (
	"cmp"
	"maps"
	"slices"

	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// Class says what a change does to the items of a cache.
type Class string

// The classes, the mildest first. None means that there is no change. NextReplacement means that running pods cannot have the change
// and nobody needs it at once: a pod gets it when it is replaced for another reason.
const (
	None            Class = ""
	NextReplacement Class = "NextReplacement"
	Live            Class = "Live"
	Warm            Class = "Warm"
	Cold            Class = "Cold"
)

// Worse reports whether c costs more than other.
func (c Class) Worse(other Class) bool {
	order := []Class{None, NextReplacement, Live, Warm, Cold}
	return slices.Index(order, c) > slices.Index(order, other)
}

// Change is one difference between the state that was given and the state that is wanted.
type Change struct {
	// Field is what differs, for example "image" or "arguments.maxConnections".
	Field string
	// Class is what making the change does to the items.
	Class Class
	// ByRelease is true for a part of the template that no field of a spec decides on.
	ByRelease bool
	// Reason tells the user, in a sentence, why the change has this class.
	Reason string
	// From is the given value and To the wanted one, as text for the user. They are empty when nothing is set.
	From, To string
}

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
	return changes, Worst(changes)
}

// Worst returns the worst class of changes.
func Worst(changes []Change) Class {
	worst := None
	for _, c := range changes {
		if c.Class.Worse(worst) {
			worst = c.Class
		}
	}
	return worst
}

// only returns the entries whose keys wanted has.
func only(of, wanted map[string]string) map[string]string {
	result := maps.Clone(of)
	maps.DeleteFunc(result, func(key, _ string) bool { _, has := wanted[key]; return !has })
	return result
}
