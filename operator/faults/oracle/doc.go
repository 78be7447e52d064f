// Package oracle decides whether a cluster is as it should be after a fault: as it was without one. It is pure: it gets objects and events,
// and knows nothing of the faults.
package oracle
