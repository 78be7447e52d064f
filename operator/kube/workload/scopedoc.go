// Package scope holds the plain structs that travel from one stage of a reconcile to the next: what was read, what is
// wanted, what was found. It carries data and decides nothing.
package workload
