package rollout_test

import (
	"testing"
	"time"

	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/update/rollout"
)

// A rollout of the operator ends for OLM when it is complete or given up. A pod that the kubelet cannot start has no failure that says so.
func TestAnUpdatedPodThatNeverGetsReadyIsGivenUp(t *testing.T) {
	byOperator, byUser := inputs.Record{Cause: inputs.ByOperator}, inputs.Record{Cause: inputs.ByUser}
	complete := byOperator
	complete.RolledOut = true
	for name, test := range map[string]struct {
		record inputs.Record
		since  time.Duration
		after  time.Duration
		stuck  bool
	}{
		"not yet":                          {byOperator, 10*time.Minute - time.Second, time.Second, false},
		"after ten minutes":                {byOperator, 10 * time.Minute, 0, true},
		"the user wanted the template":     {byUser, time.Hour, 0, false},
		"the rollout was complete earlier": {complete, time.Hour, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 3, withWarmRestart())
			c.now = c.now.Add(2 * time.Hour)
			c.records[0].Cause, c.records[0].RolledOut = test.record.Cause, test.record.RolledOut
			expect(t, c.next(), rollout.None, -1, "")
			c.unready(2, time.Minute)
			c.unready(1, test.since)
			step := c.next()
			if test.stuck {
				expect(t, step, rollout.Wait, 1, "cache-1 has not been ready for more than ten minutes")
			} else {
				expect(t, step, rollout.None, -1, "")
			}
			if step.Stuck != test.stuck || !test.stuck && step.After != test.after {
				t.Errorf("it is stuck: %t, and the next look is in %s", step.Stuck, step.After)
			}
		})
	}
}
