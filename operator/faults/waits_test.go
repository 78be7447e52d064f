//go:build faults

package faults_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/example/memcached-operator/operator/kube/watch"
)

const (
	// patience is how long a user waits at most.
	patience = 100 * time.Second

	// pollInterval is the time between two checks.
	pollInterval = 50 * time.Millisecond

	// slowdown is how many times longer a busy machine may take than one that is free.
	slowdown = 3
)

// await polls until check returns nil, for as long as a user waits.
func (s *scene) await(check func(*scene) error) error { return s.within(patience, check) }

// within polls until check returns nil, at most as often as an idle machine can check in that time. A busy machine needs longer for this
// number of checks, and gets slowdown times the limit at most.
func (s *scene) within(limit time.Duration, check func(*scene) error) (err error) {
	end := time.Now().Add(slowdown * limit)
	for checks := limit / pollInterval; checks > 0 && time.Now().Before(end); checks-- {
		if hasFailed.Load() {
			return errEnough
		}
		if err = check(s); err == nil {
			return nil
		}
		select {
		case <-s.Context().Done():
			return s.Context().Err()
		case <-time.After(pollInterval):
		}
	}
	return fmt.Errorf("not within %s: %w", limit, err)
}

// idle says whether the operator has nothing to do any more: it has not reconciled for longer than a reconcile may be delayed. An operator that
// reads Secrets every second always reconciles, and is idle if nothing has happened for a while.
func (s *scene) idle() func(*scene) error {
	const long = watch.StatusDelay + 2*time.Second
	if s.options.SecretRecheck < long {
		return s.quiet(window)
	}
	return s.unchanged(long, func() int { return int(s.reconciles()) })
}

// quiet says whether nothing has happened for a while since the first call: no event of any object, and no write of the operator.
func (s *scene) quiet(long time.Duration) func(*scene) error {
	return s.unchanged(long, func() int { return s.history.Changes() + s.injector.Writes() })
}

// unchanged says whether a number has stayed the same for a while since the first call.
func (s *scene) unchanged(long time.Duration, number func() int) func(*scene) error {
	before, since := -1, time.Now()
	return func(*scene) error {
		if now := number(); now != before {
			before, since = now, time.Now()
		}
		if time.Since(since) < long {
			return errors.New("something still happens")
		}
		return nil
	}
}
