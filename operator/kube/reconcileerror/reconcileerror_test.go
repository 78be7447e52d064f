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
