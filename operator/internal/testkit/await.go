package testkit

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Patience is how long a test waits for what it expects. It is long because the machine may be busy; nothing waits
// longer than it has to.
const Patience = 60 * time.Second

// Await polls until check returns nil. If that does not happen in time, the test fails with the last error of check.
func Await(t testing.TB, what string, check func(context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, Patience, true, func(ctx context.Context) (bool, error) {
		err := check(ctx)
		if last == nil || ctx.Err() == nil {
			last = err // The error of a request that was cut off says nothing about what is missing.
		}
		return err == nil, nil
	})
	if err != nil {
		t.Fatalf("waited %s for this: %s\nlast error: %v", Patience, what, last)
	}
}
