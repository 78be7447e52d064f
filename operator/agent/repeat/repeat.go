// Package repeat calls functions again and again. The loops of k8s.io/apimachinery do the same, but link its logging into the agent.
package repeat

import (
	"context"
	"time"
)

// Every calls do at once and then after each interval, until ctx ends. The interval is from the beginning of a call to the beginning
// of the next one, which follows at once if do takes longer.
func Every(ctx context.Context, interval time.Duration, do func(context.Context)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		do(ctx)
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// Until calls done at once, also if ctx has ended, and then again until it returns true or ctx ends. The pause is from the end of a
// call to the beginning of the next one. Until reports whether done returned true.
func Until(ctx context.Context, pause time.Duration, done func(context.Context) bool) bool {
	for !done(ctx) {
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		if ctx.Err() != nil {
			return false
		}
	}
	return true
}
