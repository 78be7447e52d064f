package reconcileerror_test

import (
	"errors"
	"testing"
	"time"

	"github.com/example/memcached-operator/operator/kube/reconcileerror"
)

func TestResolveBeforeUsesTheShortestTime(t *testing.T) {
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
		if got, err := reconcileerror.ResolveBefore(test.err, test.times...); got.RequeueAfter != test.want || err != nil {
			t.Errorf("%s: requeued after %s, %v; want %s", name, got.RequeueAfter, err, test.want)
		}
	}
	if _, err := reconcileerror.ResolveBefore(errors.New("reset"), time.Second); err == nil {
		t.Error("an unmarked error is not returned, so it is retried without backoff")
	}
}
