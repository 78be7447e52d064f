package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// heartbeat is how often a running step is reported.
const heartbeat = 15 * time.Second

// Reporter numbers steps, and prints a line when each ends and now and then while it runs. Several goroutines may use it.
type Reporter struct {
	mu    sync.Mutex
	out   io.Writer
	start time.Time
	total int
	done  int
}

// NewReporter returns a Reporter that writes to out.
func NewReporter(out io.Writer) *Reporter {
	return &Reporter{out: out, start: time.Now()}
}

// Expect adds n steps to the total.
func (r *Reporter) Expect(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total += n
}

// Logf prints one line of text.
func (r *Reporter) Logf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, format+"\n", args...)
}

// Track runs work as one step and prints how it ended.
func (r *Reporter) Track(name string, work func() error) error {
	began := time.Now()
	stop := make(chan struct{})
	var ticking sync.WaitGroup
	ticking.Go(func() {
		ticker := time.NewTicker(heartbeat)
		defer ticker.Stop()
		for {
			select {
			case <-stop:
				return
			case <-ticker.C:
				r.Logf("        %s: still running after %ds", name, int(time.Since(began).Seconds()))
			}
		}
	})
	err := work()
	close(stop)
	ticking.Wait()

	r.mu.Lock()
	defer r.mu.Unlock()
	r.done++
	verdict := "done"
	switch {
	case errors.Is(err, context.Canceled): // by the failure of another step
		verdict = "ended"
	case err != nil:
		verdict = "FAILED"
	}
	fmt.Fprintf(r.out, "[%2d/%d] %-42s %-6s %6.1fs  (at %.1fs)\n",
		r.done, r.total, name, verdict, time.Since(began).Seconds(), time.Since(r.start).Seconds())
	return err
}
