package reconcileerror

import (
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Class is the kind of an outcome, as it appears in metrics.
type Class string

const (
	// Succeeded means: the pass did all it had to.
	Succeeded Class = "Succeeded"

	// Terminated means: the user has to act.
	Terminated Class = "Terminal"

	// Delayed means: something must happen first, and will.
	Delayed Class = "Waiting"

	// Outdated means: the pass met a newer state of the cluster than it was computed from.
	Outdated Class = "Stale"

	// Failed means: an error without a known cause.
	Failed Class = "Error"
)

const (
	// terminalRecheck is how often a terminal problem is looked at again although nothing that is watched has changed.
	// The cause may be an object that the operator's caches leave out, and a user who removes it should not have to
	// touch the cache as well. It costs one read.
	terminalRecheck = time.Minute

	// staleRetry gives the caches time to catch up.
	staleRetry = 200 * time.Millisecond
)

// Error is an error whose meaning is known.
type Error struct {
	class  Class
	reason string
	after  time.Duration
	err    error
}

// Error returns the message of the cause.
func (e *Error) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.err }

// Terminal marks an error that only the user can mend. reason is the reason of the condition that reports it; err says
// what is wrong, where, and how to mend it.
func Terminal(reason string, err error) error {
	return &Error{class: Terminated, reason: reason, after: terminalRecheck, err: err}
}

// Waiting marks an error that is going to pass: something else has to happen first. It is looked at again after the
// given time, or earlier when a watched object changes.
func Waiting(reason string, after time.Duration, err error) error {
	return &Error{class: Delayed, reason: reason, after: after, err: err}
}

// Stale marks an error that comes from acting on outdated knowledge. Nothing was changed, and nothing can be reported,
// because a status computed from outdated knowledge would be wrong.
func Stale(err error) error {
	return &Error{class: Outdated, reason: "Stale", after: staleRetry, err: err}
}

// Describe returns the class of an error, and the reason it was marked with: empty for nil and for errors that were not
// marked.
func Describe(err error) (Class, string) {
	if err == nil {
		return Succeeded, ""
	}
	if marked := (*Error)(nil); errors.As(err, &marked) {
		return marked.class, marked.reason
	}
	return Failed, ""
}

// IsStale tells whether an error comes from acting on outdated knowledge.
func IsStale(err error) bool {
	class, _ := Describe(err)
	return class == Outdated
}

// Resolve maps an error to what the controller does next. Marked errors are expected: they come back after their time
// and do not appear in the log as failures. All others are retried with growing delays.
func Resolve(err error) (reconcile.Result, error) {
	if marked := (*Error)(nil); errors.As(err, &marked) {
		return reconcile.Result{RequeueAfter: marked.after}, nil
	}
	return reconcile.Result{}, err
}

// ResolveBefore is like Resolve, but comes back after the shortest of the given times at the latest. Those that are 0 do not
// count.
func ResolveBefore(err error, times ...time.Duration) (reconcile.Result, error) {
	result, err := Resolve(err)
	if err != nil {
		return result, err
	}
	for _, after := range times {
		if after > 0 && (result.RequeueAfter == 0 || after < result.RequeueAfter) {
			result.RequeueAfter = after
		}
	}
	return result, nil
}
