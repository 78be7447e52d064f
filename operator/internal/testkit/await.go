package testkit

import (
	"context"
	"testing"
	"time"
)

// Patience is how long a test waits for what it expects. It is long because the machine may be busy; nothing waits
// longer than it has to.
const Patience = 60 * time.Second

// Await polls until check returns nil. If that does not happen in time, the test fails with the last error of check.
func Await(t testing.TB, what string, check func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	var last error
	for {
		err := check(ctx)
		if err == nil {
			return
		}
		if last == nil || ctx.Err() == nil {
			last = err // The error of a request that was cut off says nothing about what is missing.
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("waited %s for this: %s\nlast error: %v", Patience, what, last)
		}
	}
}
