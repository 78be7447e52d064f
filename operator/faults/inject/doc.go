// Package inject stands between an operator under test and the API server. It records the requests of the operator, and changes what
// becomes of some of them. What a fault means for the operator does not belong here: see package faults.
package inject
