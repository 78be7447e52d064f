package repeat_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/example/memcached-operator/operator/agent/repeat"
)

// record returns a function that takes a time, and those at which it was called, since now.
func record(takes time.Duration) (do func(context.Context), at func() []time.Duration) {
	begin := time.Now()
	var calls []time.Duration
	do = func(context.Context) {
		calls = append(calls, time.Since(begin))
		<-time.After(takes)
	}
	return do, func() []time.Duration { return calls }
}

func TestEveryCountsFromTheBeginning(t *testing.T) {
	for takes, want := range map[time.Duration][]time.Duration{
		0:                      {0, time.Second, 2 * time.Second},
		500 * time.Millisecond: {0, time.Second, 2 * time.Second},
		2 * time.Second:        {0, 2 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2900*time.Millisecond)
			defer cancel()
			do, at := record(takes)
			repeat.Every(ctx, time.Second, do)
			if !slices.Equal(at(), want) {
				t.Errorf("what takes %s is done at %v, want %v", takes, at(), want)
			}
		})
	}
}

func TestUntilPausesAndTellsWhetherItIsDone(t *testing.T) {
	for patience, want := range map[time.Duration]bool{time.Minute: true, 2900 * time.Millisecond: false} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			do, at := record(500 * time.Millisecond)
			done := repeat.Until(ctx, time.Second, func(ctx context.Context) bool {
				do(ctx)
				return len(at()) == 3
			})
			calls := []time.Duration{0, 1500 * time.Millisecond, 3 * time.Second}
			if done != want || !slices.Equal(at(), calls[:len(at())]) || len(at()) < 2 {
				t.Errorf("with %s, it is done: %t, after calls at %v", patience, done, at())
			}
		})
	}
}

func TestOnceTheContextHasEndedOnlyUntilCalls(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	repeat.Every(ctx, time.Second, func(context.Context) { t.Error("Every calls") })
	calls := 0
	if repeat.Until(ctx, time.Second, func(context.Context) bool { calls++; return false }) || calls != 1 {
		t.Errorf("Until calls %d times, and says that it is done", calls)
	}
}
