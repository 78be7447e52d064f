// Package load asks servers for something all the time, and counts what fails: the evidence that an upgrade of the
// operator interrupts nobody.
//
// Nothing is asked twice. A request that gets no right answer in time is a failed one, whatever lies between here and
// the server, so that nothing on the way can hide a failure.
package load
