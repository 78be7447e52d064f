// Package owned contains what all owned objects have in common: names, labels, owner references, and the plan that
// lists them. It is pure. Details of one kind of object belong into the package of that kind.
package owned

// Manager is the operator's name as field manager, as value of the managed-by label, and as source of events.
const Manager = "memcached-operator"
