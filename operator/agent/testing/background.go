package testing

import (
	"context"
	"sync"
	"testing"
)

// Background calls run, which returns when its context ends, and waits for that at the end of the test.
func Background(t *testing.T, run func(context.Context)) {
	t.Helper()
	var ended sync.WaitGroup
	ended.Go(func() { run(t.Context()) })
	t.Cleanup(ended.Wait)
}
