package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"
)

const (
	// defaultGrace is how long a process may take to end after it was asked to.
	defaultGrace = 10 * time.Second
	// killGrace is how long the kernel may take to end a process after SIGKILL.
	killGrace = 10 * time.Second
)

// Stop ends the process recorded under name and forgets it: SIGTERM, and after grace SIGKILL.
// It returns when the process is gone. Nothing recorded, or nothing running, is no error.
func (s *Supervisor) Stop(name string, grace time.Duration) error {
	have, err := s.read(name)
	if err != nil {
		return err
	}
	if have != nil {
		if err := have.End(grace); err != nil {
			return fmt.Errorf("stop %s: %w", name, err)
		}
	}
	if err := os.Remove(s.file(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget %s: %w", name, err)
	}
	return nil
}

// Sweep kills every process that carries this cluster's marker: shims, and whatever a crash left unrecorded.
func (s *Supervisor) Sweep() error {
	strays, err := Marked(s.Mark)
	if err != nil {
		return err
	}
	var errs []error
	for _, stray := range strays {
		if err := stray.End(0); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// End asks the process to end and returns when it is gone. With a grace of 0 it is killed at once.
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

// signal sends one signal and waits for the process to be gone.
func (i Identity) signal(signal syscall.Signal, wait time.Duration) (gone bool, err error) {
	if !i.Alive() {
		return true, nil
	}
	if err := syscall.Kill(i.PID, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		return false, fmt.Errorf("send %s to process %d: %w", signal, i.PID, err)
	}
	const interval = pollInterval / 4
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	deadline := time.After(wait)
	for i.Alive() {
		select {
		case <-deadline:
			return false, nil
		case <-ticker.C:
		}
	}
	return true, nil
}
