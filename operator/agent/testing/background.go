package testing

import (
	"context"
	"sync"
	"testing"
)

// Background calls run, which returns when its context ends: at the end of the test, or when stop is called. Both wait until
// it has returned.
func Background(t testing.TB, run func(context.Context)) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var ended sync.WaitGroup
	ended.Go(func() { run(ctx) })
	stop = func() {
		cancel()
		ended.Wait()
	}
	t.Cleanup(stop)
	return stop
}
