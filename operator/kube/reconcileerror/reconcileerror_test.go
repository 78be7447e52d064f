package reconcileerror_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/example/memcached-operator/operator/kube/reconcileerror"
)

func TestResolve(t *testing.T) {
	cause := errors.New("cause")
	for name, test := range map[string]struct {
		err    error
		result reconcile.Result
		retry  bool
		class  reconcileerror.Class
		reason string
	}{
		"no error is not requeued":                  {class: reconcileerror.Succeeded},
		"an unmarked error is retried with backoff": {err: cause, retry: true, class: reconcileerror.Failed},
		"a terminal error is rechecked every minute": {
			err: reconcileerror.Terminal("Conflict", cause), result: reconcile.Result{RequeueAfter: time.Minute},
			class: reconcileerror.Terminated, reason: "Conflict",
		},
		"a waiting error is retried after its time": {
			err: reconcileerror.Waiting("Deleting", 5*time.Second, cause), result: reconcile.Result{RequeueAfter: 5 * time.Second},
			class: reconcileerror.Delayed, reason: "Deleting",
		},
		"a stale error is retried soon": {
			err: reconcileerror.Stale(cause), result: reconcile.Result{RequeueAfter: 200 * time.Millisecond},
			class: reconcileerror.Outdated, reason: "Stale",
		},
		"a wrapped error keeps its class": {
			err:    errors.Join(fmt.Errorf("apply: %w", reconcileerror.Terminal("Conflict", cause))),
			result: reconcile.Result{RequeueAfter: time.Minute}, class: reconcileerror.Terminated, reason: "Conflict",
		},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := reconcileerror.Resolve(test.err)
			if result != test.result || (err != nil) != test.retry {
				t.Errorf("Resolve gives %+v, %v", result, err)
			}
			if test.err != nil && !errors.Is(test.err, cause) {
				t.Error("the cause is lost")
			}
			if class, reason := reconcileerror.Describe(test.err); class != test.class || reason != test.reason {
				t.Errorf("Describe gives %q, %q, want %q, %q", class, reason, test.class, test.reason)
			}
			if stale := reconcileerror.IsStale(test.err); stale != (test.class == reconcileerror.Outdated) {
				t.Errorf("IsStale gives %v", stale)
			}
		})
	}
}

func TestJoin(t *testing.T) {
	terminal := reconcileerror.Terminal("Conflict", errors.New("taken"))
	waiting := reconcileerror.Waiting("Deleting", 5*time.Second, errors.New("being deleted"))
	stale := reconcileerror.Stale(errors.New("changed"))
	failed := errors.New("reset")
	for name, test := range map[string]struct {
		errs    []error
		class   reconcileerror.Class
		reason  string
		message string
		after   time.Duration
	}{
		"nothing":                    {errs: []error{nil, nil}, class: reconcileerror.Succeeded},
		"one":                        {errs: []error{nil, terminal}, class: reconcileerror.Terminated, reason: "Conflict", message: "taken", after: time.Minute},
		"what the user has to do":    {errs: []error{waiting, terminal}, class: reconcileerror.Terminated, reason: "Conflict", message: "taken; being deleted", after: 5 * time.Second},
		"what nobody expects":        {errs: []error{terminal, failed}, class: reconcileerror.Failed, message: "reset; taken"},
		"what makes others doubtful": {errs: []error{terminal, failed, stale}, class: reconcileerror.Outdated, reason: "Stale", message: "changed", after: 200 * time.Millisecond},
		"two of a class":             {errs: []error{terminal, reconcileerror.Terminal("Other", failed)}, class: reconcileerror.Terminated, reason: "Conflict", message: "taken; reset", after: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			err := reconcileerror.Join(test.errs...)
			message := ""
			if err != nil {
				message = err.Error()
			}
			class, reason := reconcileerror.Describe(err)
			if class != test.class || reason != test.reason || message != test.message {
				t.Errorf("got %s %s %q, want %s %s %q", class, reason, message, test.class, test.reason, test.message)
			}
			if result, _ := reconcileerror.Resolve(err); result.RequeueAfter != test.after {
				t.Errorf("it is retried after %s, want %s", result.RequeueAfter, test.after)
			}
		})
	}
}

func TestResolveUsesTheShortestTime(t *testing.T) {
	waiting := reconcileerror.Waiting("Soon", 10*time.Second, errors.New("soon"))
	for name, test := range map[string]struct {
		err   error
		times []time.Duration
		want  time.Duration
	}{
		"no times":                {nil, nil, 0},
		"only zeros":              {nil, []time.Duration{0, 0}, 0},
		"the shortest time":       {nil, []time.Duration{0, 30 * time.Second, 2 * time.Second}, 2 * time.Second},
		"an error with less time": {waiting, []time.Duration{30 * time.Second}, 10 * time.Second},
		"an error with more time": {waiting, []time.Duration{time.Second}, time.Second},
	} {
		if got, err := reconcileerror.Resolve(test.err, test.times...); got.RequeueAfter != test.want || err != nil {
			t.Errorf("%s: requeued after %s, %v; want %s", name, got.RequeueAfter, err, test.want)
		}
	}
	if _, err := reconcileerror.Resolve(errors.New("reset"), time.Second); err == nil {
		t.Error("an unmarked error is not returned, so it is retried without backoff")
	}
}
