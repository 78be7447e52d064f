package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Process is a background process that runs, or has run.
type Process struct {
	name   string
	log    string
	id     Identity
	exited chan struct{}
}

const pollInterval = 100 * time.Millisecond

// follow returns a Process that has exited when awaitExit returns.
func follow(name, log string, id Identity, awaitExit func()) *Process {
	p := &Process{name: name, log: log, id: id, exited: make(chan struct{})}
	go func() {
		awaitExit()
		close(p.exited)
	}()
	return p
}

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// ExitError is the error to report when the process has ended. It holds the end of the log.
func (p *Process) ExitError() error {
	return fmt.Errorf("%s has exited; the end of %s:\n%s", p.name, p.log, p.tail())
}

// Await polls ready until it returns nil. It stops early when the process exits, after timeout, and when ctx ends.
// The error then holds the last error of ready and the end of the log.
func (p *Process) Await(ctx context.Context, timeout time.Duration, ready func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, pollInterval, timeout, true, func(ctx context.Context) (bool, error) {
		if last = ready(ctx); last == nil {
			return true, nil
		}
		select {
		case <-p.exited:
			return false, p.ExitError()
		default:
			return false, nil
		}
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s is not ready after %s: %w; the end of %s:\n%s", p.name, timeout, last, p.log, p.tail())
	}
	return err
}

// tail returns the last lines of the log, indented.
func (p *Process) tail() string {
	data, err := os.ReadFile(p.log)
	if err != nil {
		data = []byte("(" + err.Error() + ")")
	} else if len(data) == 0 {
		data = []byte("(the log is empty)")
	}
	return lastLines(string(data), "    ")
}
