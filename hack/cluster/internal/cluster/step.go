package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/example/memcached-operator/hack/cluster/internal/process"
)

// Step is one named part of bringing the cluster up and down. Both functions are idempotent.
type Step struct {
	Name string
	// Process is what the step starts, if it starts a process: users may kill it and start it again.
	Process process.Spec
	// Needs names the steps that must succeed before Up starts.
	Needs []string
	// Up makes what is not there. It is nil for a step that only cleans up.
	Up func(context.Context) error
	// Down removes what is there. It is nil for a step that leaves nothing behind.
	Down func(context.Context) error
}

// Steps are in an order in which every step comes after those that it needs.
type Steps []Step

// Validate reports a duplicate name, and a need that no earlier step provides.
func (s Steps) Validate() error {
	seen := map[string]bool{}
	for _, step := range s {
		if seen[step.Name] {
			return fmt.Errorf("step %q is listed twice", step.Name)
		}
		for _, need := range step.Needs {
			if !seen[need] {
				return fmt.Errorf("step %q needs %q, which no earlier step provides", step.Name, need)
			}
		}
		seen[step.Name] = true
	}
	return nil
}

// CountUp counts the steps that Up reports.
func (s Steps) CountUp() int {
	n := 0
	for _, step := range s {
		if step.Up != nil {
			n++
		}
	}
	return n
}

// Up runs each step as soon as those that it needs have succeeded. The first error cancels all others. It is returned with
// the name of its step.
func (s Steps) Up(ctx context.Context, report *Reporter) error {
	if err := s.Validate(); err != nil {
		return err
	}
	done := map[string]chan struct{}{}
	for _, step := range s {
		done[step.Name] = make(chan struct{})
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, step := range s {
		group.Go(func() error {
			for _, need := range step.Needs {
				select {
				case <-done[need]:
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
			if step.Up != nil {
				if err := report.Track(step.Name, func() error { return step.Up(ctx) }); err != nil {
					return fmt.Errorf("%s: %w", step.Name, err)
				}
			}
			close(done[step.Name])
			return nil
		})
	}
	return group.Wait()
}

// Down undoes the steps one by one, in reverse order. It goes on after an error, and returns all errors.
func (s Steps) Down(ctx context.Context) error {
	var errs []error
	for _, step := range slices.Backward(s) {
		if step.Down == nil {
			continue
		}
		if err := step.Down(ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", step.Name, err))
		}
	}
	return errors.Join(errs...)
}
