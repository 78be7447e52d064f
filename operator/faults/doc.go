// Package faults runs the operator against a real API server while requests fail, answers are lost, watches stop and processes end. After
// each of these plans, everything has to be as it is without the fault, and nothing may have been lost on the way.
//
// `make faults` runs all plans. The build tag faults keeps them out of `make test`.
package faults
