package diff

import "slices"

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
	// Reason tells the user, in a sentence, why the change has this class.
	Reason string
	// From is the given value and To the wanted one, as text for the user. They are empty when nothing is set.
	From, To string
}
