package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// DefaultGrace is how long a process may take to end after SIGTERM.
	DefaultGrace = 10 * time.Second
	// killGrace is how long the kernel may take to end a process after SIGKILL.
	killGrace = 10 * time.Second
)

// Stop ends the recorded process of that name, with SIGTERM and, after grace, SIGKILL, and removes its record.
// It returns when the process has ended. It is no error if there is no record or no process.
func (s *Supervisor) Stop(name string, grace time.Duration) error {
	have, err := s.read(name)
	if err != nil {
		return err
	}
	if err := have.End(grace); err != nil {
		return fmt.Errorf("stop %s: %w", name, err)
	}
	if err := os.Remove(s.file(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the record of %s: %w", name, err)
	}
	return nil
}

// Kill ends the recorded process of that name with SIGKILL. Its record stays: the process belongs to the cluster, and may be started
// again.
func (s *Supervisor) Kill(name string) error {
	have, err := s.read(name)
	if err != nil {
		return err
	}
	if err := have.End(0); err != nil {
		return fmt.Errorf("kill %s: %w", name, err)
	}
	return nil
}

// Pause stops the recorded process of that name with SIGSTOP: it keeps its memory and its connections, and does nothing.
// Resume, or Ensure, lets it go on. Both fail if it does not run.
func (s *Supervisor) Pause(name string) error { return s.send(name, syscall.SIGSTOP) }

// Resume lets a paused process go on.
func (s *Supervisor) Resume(name string) error { return s.send(name, syscall.SIGCONT) }

func (s *Supervisor) send(name string, signal syscall.Signal) error {
	have, err := s.read(name)
	if err == nil && !have.Alive() {
		err = errors.New("it does not run")
	}
	if err == nil {
		err = syscall.Kill(have.PID, signal)
	}
	if err != nil {
		return fmt.Errorf("send %s to %s: %w", signal, name, err)
	}
	return nil
}

// KillMarked kills every process that carries the marker of this cluster: containerd's shims, and processes that a
// crash left without a record.
func (s *Supervisor) KillMarked() error { return s.killMarked(func([]string) bool { return true }) }

// KillMarkedWith kills those of them that have this argument.
func (s *Supervisor) KillMarkedWith(argument string) error {
	return s.killMarked(func(arguments []string) bool { return slices.Contains(arguments, argument) })
}

func (s *Supervisor) killMarked(which func(arguments []string) bool) error {
	marked, err := s.Marked()
	if err != nil {
		return err
	}
	var errs []error
	for _, id := range marked {
		if which(id.arguments()) {
			errs = append(errs, id.End(0))
		}
	}
	return errors.Join(errs...)
}

// arguments returns the process's command line, or nothing if it has ended.
func (i Identity) arguments() []string {
	proc, err := procfs.NewProc(i.PID)
	if err != nil {
		return nil
	}
	arguments, err := proc.CmdLine()
	if err != nil {
		return nil
	}
	return arguments
}

// End sends SIGTERM and, after grace, SIGKILL. With a grace of 0 it sends SIGKILL at once. It returns when the process
// has ended.
func (i Identity) End(grace time.Duration) error {
	if grace > 0 {
		if gone, err := i.signal(syscall.SIGTERM, grace); gone || err != nil {
			return err
		}
	}
	gone, err := i.signal(syscall.SIGKILL, killGrace)
	if err != nil || gone {
		return err
	}
	return fmt.Errorf("process %d is still there %s after SIGKILL", i.PID, killGrace)
}

// signal sends one signal and waits for the process to end.
func (i Identity) signal(signal syscall.Signal, timeout time.Duration) (gone bool, err error) {
	if !i.Alive() {
		return true, nil
	}
	for _, sent := range []syscall.Signal{signal, syscall.SIGCONT} { // One that is paused does not end otherwise.
		if err := syscall.Kill(i.PID, sent); err != nil && !errors.Is(err, syscall.ESRCH) {
			return false, fmt.Errorf("send %s to process %d: %w", sent, i.PID, err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return i.poll(ctx, pollInterval/4) == nil, nil
}

// waitGone returns when the process has ended.
func (i Identity) waitGone() { _ = i.poll(context.Background(), pollInterval) }

func (i Identity) poll(ctx context.Context, interval time.Duration) error {
	return wait.PollUntilContextCancel(ctx, interval, true, func(context.Context) (bool, error) { return !i.Alive(), nil })
}
