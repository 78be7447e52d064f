// Package progress tells a person what is going on: which step of how many, and how long it took.
// It writes lines only; it neither runs nor decides anything.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// heartbeat is how often a step that is still running says so.
const heartbeat = 15 * time.Second

// Reporter numbers steps and prints one line when each ends, and a line now and then while it runs.
// It is safe for use by several goroutines.
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

// Expect adds n steps to the total that lines are numbered against.
func (r *Reporter) Expect(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total += n
}

// Logf prints one free line.
func (r *Reporter) Logf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, format+"\n", args...)
}

// Elapsed is the time since the Reporter was made.
func (r *Reporter) Elapsed() time.Duration { return time.Since(r.start) }

// Track runs work as one step called name and prints how it ended.
func (r *Reporter) Track(name string, work func() error) error {
	began := time.Now()
	stop := make(chan struct{})
	var ticking sync.WaitGroup
	ticking.Go(func() { r.beat(name, began, stop) })
	err := work()
	close(stop)
	ticking.Wait()

	r.mu.Lock()
	defer r.mu.Unlock()
	r.done++
	verdict := "done"
	switch {
	case errors.Is(err, context.Canceled): // by another step's failure
		verdict = "ended"
	case err != nil:
		verdict = "FAILED"
	}
	fmt.Fprintf(r.out, "[%2d/%d] %-42s %-6s %6.1fs  (at %.1fs)\n",
		r.done, r.total, name, verdict, time.Since(began).Seconds(), r.Elapsed().Seconds())
	return err
}

// beat prints a line every heartbeat until stop is closed.
func (r *Reporter) beat(name string, began time.Time, stop <-chan struct{}) {
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			r.Logf("        %s: still going after %ds", name, int(time.Since(began).Seconds()))
		}
	}
}
