package diff

import (
	"sort"

	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// Class says what a change does to the items of a cache.
type Class string

// The classes, from the mildest on. None is that of no change at all.
const (
	None Class = ""
	Live Class = "Live"
	Warm Class = "Warm"
	Cold Class = "Cold"
)

// Worse tells whether c costs more than other.
func (c Class) Worse(other Class) bool { return c.rank() > other.rank() }

func (c Class) rank() int {
	switch c {
	case None:
		return 0
	case Live:
		return 1
	case Warm:
		return 2
	case Cold:
		return 3
	}
	return 4
}

// Change is one difference between what runs and what is wanted.
type Change struct {
	// Field is what differs, for example "image" or "arguments.maxConnections".
	Field string
	// Class is what making the change does to the items.
	Class Class
	// Reason is a sentence for the user: why it has this class.
	Reason string
	// From is what runs, To what is wanted; both are meant to be read, and empty when there is nothing.
	From, To string
}

// Compare returns what has to change for running to become wanted, sorted by field, and the worst class among it.
func Compare(running, wanted State, features inputs.Features) ([]Change, Class) {
	s := situation{running: running, wanted: wanted, features: features}
	var changes []Change
	for _, f := range fields {
		from, to := f.text(running), f.text(wanted)
		if from == to {
			continue
		}
		if f.unknownIsNoChange && (from == "" || to == "") {
			continue
		}
		class, reason := f.class(s)
		if class == None {
			continue
		}
		changes = append(changes, Change{Field: f.name, Class: class, Reason: reason, From: from, To: to})
	}
	changes = append(changes, rest(s)...)
	sort.Slice(changes, func(i, j int) bool { return changes[i].Field < changes[j].Field })
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
