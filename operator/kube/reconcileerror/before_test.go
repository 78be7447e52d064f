package reconcileerror_test

import (
	"errors"
	"testing"
	"time"

	"github.com/example/memcached-operator/operator/kube/reconcileerror"
)

func TestTheEarliestTimeCounts(t *testing.T) {
	waits := reconcileerror.Waiting("Soon", 10*time.Second, errors.New("soon"))
	for name, test := range map[string]struct {
		err   error
		times []time.Duration
		want  time.Duration
	}{
		"no time at all":             {nil, nil, 0},
		"nothing but zeros":          {nil, []time.Duration{0, 0}, 0},
		"the shorter one":            {nil, []time.Duration{0, 30 * time.Second, 2 * time.Second}, 2 * time.Second},
		"an error that comes sooner": {waits, []time.Duration{30 * time.Second}, 10 * time.Second},
		"an error that comes later":  {waits, []time.Duration{time.Second}, time.Second},
	} {
		if got, err := reconcileerror.ResolveBefore(test.err, test.times...); got.RequeueAfter != test.want || err != nil {
			t.Errorf("%s: comes back after %s, %v; want %s", name, got.RequeueAfter, err, test.want)
		}
	}
	if _, err := reconcileerror.ResolveBefore(errors.New("reset"), time.Second); err == nil {
		t.Error("a failure was lost, and with it that it is tried again less and less often")
	}
}
