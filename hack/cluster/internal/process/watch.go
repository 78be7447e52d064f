package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Process is a process that runs, or has run.
type Process struct {
	name   string
	log    string
	id     Identity
	exited chan struct{}
}

const (
	pollInterval = 100 * time.Millisecond
	tailLines    = 15
	tailBytes    = 8 << 10
)

// watch follows a child of this program and reaps it.
func watch(name, log string, id Identity, cmd *exec.Cmd) *Process {
	p := &Process{name: name, log: log, id: id, exited: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // the exit status says less than the log, which is what is shown
		close(p.exited)
	}()
	return p
}

// adopt follows a process that an earlier run of this program started.
func adopt(name, log string, id Identity) *Process {
	p := &Process{name: name, log: log, id: id, exited: make(chan struct{})}
	go func() {
		ticker := time.NewTicker(pollInterval)
		defer ticker.Stop()
		for id.Alive() {
			<-ticker.C
		}
		close(p.exited)
	}()
	return p
}

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Death is the error to report of a process that has ended: its name and the end of its log.
func (p *Process) Death() error {
	return fmt.Errorf("%s has exited; the end of %s:\n%s", p.name, p.log, p.tail())
}

// Await polls ready until it returns nil. It gives up when the process exits, after timeout, or when ctx ends;
// the error then holds the last answer of ready and the end of the process's log.
func (p *Process) Await(ctx context.Context, timeout time.Duration, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		last := ready(ctx)
		if last == nil {
			return nil
		}
		select {
		case <-p.exited:
			return p.Death()
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return context.Canceled
			}
			return fmt.Errorf("%s is not ready after %s: %w; the end of %s:\n%s", p.name, timeout, last, p.log, p.tail())
		case <-ticker.C:
		}
	}
}

// tail returns the last lines of the log, indented.
func (p *Process) tail() string {
	file, err := os.Open(p.log)
	if err != nil {
		return "    (" + err.Error() + ")"
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "    (" + err.Error() + ")"
	}
	from := max(0, info.Size()-tailBytes)
	data := make([]byte, info.Size()-from)
	n, err := file.ReadAt(data, from)
	if n == 0 && err != nil {
		return "    (the log is empty)"
	}
	lines := strings.Split(strings.TrimRight(string(data[:n]), "\n"), "\n")
	return "    " + strings.Join(lines[max(0, len(lines)-tailLines):], "\n    ")
}
