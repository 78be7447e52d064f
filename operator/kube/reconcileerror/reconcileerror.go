// Package reconcileerror classifies the errors of a reconcile, and maps them in one place to what the controller does
// next. It is pure: it depends on errors only.
package reconcileerror

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Class is the class of a reconcile's result, as it appears in metrics.
type Class string

const (
	// Succeeded means that there was no error.
	Succeeded Class = "Succeeded"

	// Terminated means that the user has to act.
	Terminated Class = "Terminal"

	// Delayed means that the reconcile waits for something that is expected to happen.
	Delayed Class = "Waiting"

	// Outdated means that the reconcile was based on outdated objects.
	Outdated Class = "Stale"

	// Failed means an error of any other kind.
	Failed Class = "Error"
)

const (
	// terminalRecheck is the time between reconciles of an object with a terminal error if no watch triggers one
	// earlier. The cause may be an object that the operator does not watch, and its removal should suffice. A recheck
	// costs one read.
	terminalRecheck = time.Minute

	// staleRetry gives the operator's cache time to catch up.
	staleRetry = 200 * time.Millisecond
)

// Error is an error of a known class.
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

// Terminal marks an error that only the user can fix. reason is the reason of the condition that reports it; err says
// what is wrong, where, and how to fix it.
func Terminal(reason string, err error) error {
	return &Error{class: Terminated, reason: reason, after: terminalRecheck, err: err}
}

// Waiting marks an error that resolves by itself. The object is reconciled again after the given time, or earlier if a
// watched object changes.
func Waiting(reason string, after time.Duration, err error) error {
	return &Error{class: Delayed, reason: reason, after: after, err: err}
}

// Stale marks an error that was caused by outdated objects. Nothing was changed, and no status is written, because it
// would be wrong.
func Stale(err error) error {
	return &Error{class: Outdated, reason: "Stale", after: staleRetry, err: err}
}

// Join returns one error for several, nil without any. Its message has those of all, the most urgent one first. Its class is the
// most urgent one: Stale, because then nothing else is certain, Failed, Terminal, or Waiting. It is retried as soon as any of
// them would be.
func Join(errs ...error) error {
	errs = slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	if len(errs) == 0 {
		return nil
	}
	slices.SortStableFunc(errs, moreUrgent)
	if len(errs) == 1 || IsStale(errs[0]) {
		return errs[0]
	}
	var others []string
	for _, err := range errs[1:] {
		others = append(others, err.Error())
	}
	message := fmt.Errorf("%w; %s", errs[0], strings.Join(others, "; "))
	first := (*Error)(nil)
	if !errors.As(errs[0], &first) {
		return message
	}
	joined := &Error{class: first.class, reason: first.reason, after: first.after, err: message}
	for _, err := range errs[1:] {
		if other := (*Error)(nil); errors.As(err, &other) {
			joined.after = min(joined.after, other.after)
		}
	}
	return joined
}

// moreUrgent orders errors by their class.
func moreUrgent(a, b error) int {
	classes := []Class{Outdated, Failed, Terminated, Delayed}
	ofA, _ := Describe(a)
	ofB, _ := Describe(b)
	return slices.Index(classes, ofA) - slices.Index(classes, ofB)
}

// Describe returns the class of an error and its reason. The reason is empty for nil and for errors that are not
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

// IsStale tells whether an error was caused by outdated objects.
func IsStale(err error) bool {
	class, _ := Describe(err)
	return class == Outdated
}

// Resolve maps an error to the result of Reconcile. Marked errors are expected: they are retried after their time and
// are not logged as failures. All others are retried with exponential backoff. times are further times after which
// the object has to be reconciled again; the shortest one counts, and zeros are ignored.
func Resolve(err error, times ...time.Duration) (reconcile.Result, error) {
	var result reconcile.Result
	if marked := (*Error)(nil); errors.As(err, &marked) {
		result.RequeueAfter = marked.after
	} else if err != nil {
		return result, err
	}
	for _, after := range times {
		if after > 0 && (result.RequeueAfter == 0 || after < result.RequeueAfter) {
			result.RequeueAfter = after
		}
	}
	return result, nil
}
