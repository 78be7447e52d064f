//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// lateBy is how much later than it would kube-proxy learns of changes, which is much less than the five seconds in which a pod of an
// Application that is told to end goes on serving.
const lateBy = 1500 * time.Millisecond

// learnLate updates an Application several times while the cluster's Services learn late of pods that come and go. No request to its Service
// fails.
func learnLate(t *testing.T) {
	onlyLocal(t)
	image, err := webImage()
	must(t, err)
	const name, updates = "late", 5
	visitor := makeVisited(t, name, image)
	inTime := delayServices(t)
	for i := range updates {
		before := podsOf(t, name)
		patchSpec(t, name, fmt.Sprintf(`{"env":[{"name":"GREETING","value":"hello %d"}]}`, i))
		waitReady(t, "default", name)
		waitPods(t, name, 2)
		if podsOf(t, name) == before {
			t.Errorf("update %d has not reached the pods", i)
		}
	}
	pauses, err := inTime()
	must(t, err)
	counts := visitor(t)
	t.Logf("%d updates while kube-proxy was paused %d times: %d requests, %d failed, the slowest took %s", updates, pauses, counts.Requests, counts.Failed, counts.Slowest)
	if counts.Requests < 50*updates || counts.Failed > 0 || pauses < updates {
		t.Errorf("%d of %d requests failed: %s", counts.Failed, counts.Requests, strings.Join(counts.Failures, "; "))
	}
}

// delayServices pauses kube-proxy again and again, until the function that it returns is called, which says how often.
func delayServices(t *testing.T) (inTime func() (int, error)) {
	t.Helper()
	const proxy = "kube-proxy"
	ctx, cancel := context.WithCancel(t.Context())
	pauses, ended := 0, make(chan error, 1)
	go func() {
		var err error
		for ctx.Err() == nil && err == nil {
			err = control(context.Background(), "pause", proxy)
			until(ctx, lateBy)
			err = errors.Join(err, control(context.Background(), "resume", proxy))
			pauses++
			until(ctx, lateBy) // It works through what it missed.
		}
		ended <- err
	}()
	t.Cleanup(func() { must(t, control(context.Background(), "resume", proxy)) })
	t.Cleanup(cancel)
	return func() (int, error) {
		cancel()
		err := <-ended
		return pauses, err
	}
}

// until waits for a duration, or for the end of ctx.
func until(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}
