// Package owned decides what all owned objects have in common: names, labels and owner references. It is pure. What is
// particular to one kind of object belongs in the package of that kind.
package owned
