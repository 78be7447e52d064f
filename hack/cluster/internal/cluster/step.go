// Package step runs a list of named steps: upwards in parallel where their needs allow it,
// downwards one after the other in reverse. It knows nothing about what the steps do.
package cluster

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
)

// Step is one named piece of work and its undoing.
// Both functions must be idempotent: Up ensures, Down removes whatever is there.
type Step struct {
	Name string
	// Needs names the steps that must have ended well before Up starts.
	Needs []string
	// Up may be nil for a step that only cleans up.
	Up func(context.Context) error
	// Down may be nil for a step that leaves nothing behind.
	Down func(context.Context) error
}

// List is a list of steps in an order in which every step comes after its needs.
type List []Step

// Validate reports a duplicate name or a need that no earlier step satisfies.
func (l List) Validate() error {
	seen := map[string]bool{}
	for _, s := range l {
		if seen[s.Name] {
			return fmt.Errorf("step %q is listed twice", s.Name)
		}
		for _, need := range s.Needs {
			if !seen[need] {
				return fmt.Errorf("step %q needs %q, which no earlier step provides", s.Name, need)
			}
		}
		seen[s.Name] = true
	}
	return nil
}

// Ups counts the steps that Up reports.
func (l List) Ups() int {
	n := 0
	for _, s := range l {
		if s.Up != nil {
			n++
		}
	}
	return n
}

// Up runs every step as soon as its needs are met. The first error cancels the others and is returned,
// prefixed with the name of its step.
func (l List) Up(ctx context.Context, report *Reporter) error {
	if err := l.Validate(); err != nil {
		return err
	}
	done := map[string]chan struct{}{}
	for _, s := range l {
		done[s.Name] = make(chan struct{})
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, s := range l {
		group.Go(func() error {
			for _, need := range s.Needs {
				select {
				case <-done[need]:
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
			if s.Up != nil {
				if err := report.Track(s.Name, func() error { return s.Up(ctx) }); err != nil {
					return fmt.Errorf("%s: %w", s.Name, err)
				}
			}
			close(done[s.Name])
			return nil
		})
	}
	return group.Wait()
}

// Down undoes every step in reverse order. An error does not stop it: all errors are returned together.
func (l List) Down(ctx context.Context) error {
	var errs []error
	for i := len(l) - 1; i >= 0; i-- {
		if l[i].Down == nil {
			continue
		}
		if err := l[i].Down(ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", l[i].Name, err))
		}
	}
	return errors.Join(errs...)
}
