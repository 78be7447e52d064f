package outcome_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/example/memcached-operator/operator/outcome"
)

func TestResolve(t *testing.T) {
	cause := errors.New("cause")
	for name, test := range map[string]struct {
		err    error
		result reconcile.Result
		retry  bool
		class  outcome.Class
		reason string
	}{
		"success needs nothing more":                     {class: outcome.Succeeded},
		"an unknown error is retried with growing delay": {err: cause, retry: true, class: outcome.Failed},
		"a terminal error is looked at every minute": {
			err: outcome.Terminal("Conflict", cause), result: reconcile.Result{RequeueAfter: time.Minute},
			class: outcome.Terminated, reason: "Conflict",
		},
		"a known delay is waited for": {
			err: outcome.Waiting("Deleting", 5*time.Second, cause), result: reconcile.Result{RequeueAfter: 5 * time.Second},
			class: outcome.Delayed, reason: "Deleting",
		},
		"outdated knowledge is refreshed soon": {
			err: outcome.Stale(cause), result: reconcile.Result{RequeueAfter: 200 * time.Millisecond},
			class: outcome.Outdated, reason: "Stale",
		},
		"a mark is found below other errors": {
			err:    errors.Join(fmt.Errorf("apply: %w", outcome.Terminal("Conflict", cause))),
			result: reconcile.Result{RequeueAfter: time.Minute}, class: outcome.Terminated, reason: "Conflict",
		},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := outcome.Resolve(test.err)
			if result != test.result || (err != nil) != test.retry {
				t.Errorf("Resolve gives %+v, %v", result, err)
			}
			if test.err != nil && !errors.Is(test.err, cause) {
				t.Error("the cause is lost")
			}
			if class, reason := outcome.Describe(test.err); class != test.class || reason != test.reason {
				t.Errorf("Describe gives %q, %q, want %q, %q", class, reason, test.class, test.reason)
			}
			if stale := outcome.IsStale(test.err); stale != (test.class == outcome.Outdated) {
				t.Errorf("IsStale gives %v", stale)
			}
		})
	}
}
