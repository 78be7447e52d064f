package cluster

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
)

// journal records the steps that ran, in order.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) note(line string, err error) func(context.Context) error {
	return func(context.Context) error {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.lines = append(j.lines, line)
		return err
	}
}

func quiet() *Reporter { return NewReporter(io.Discard) }

func TestUpStartsAStepAfterItsNeeds(t *testing.T) {
	var j journal
	steps := Steps{
		{Name: "a", Up: j.note("a", nil)},
		{Name: "b", Needs: []string{"a"}, Up: j.note("b", nil)},
		{Name: "c", Needs: []string{"b"}, Up: j.note("c", nil)},
	}
	if err := steps.Up(t.Context(), quiet()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", "b", "c"}; !slices.Equal(j.lines, want) {
		t.Errorf("ran %v, want %v", j.lines, want)
	}
}

func TestUpRunsIndependentStepsInParallel(t *testing.T) {
	met := make(chan struct{})
	steps := Steps{
		{Name: "a", Up: func(ctx context.Context) error {
			select {
			case met <- struct{}{}:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}},
		{Name: "b", Up: func(ctx context.Context) error {
			select {
			case <-met:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}},
	}
	if err := steps.Up(t.Context(), quiet()); err != nil {
		t.Fatal(err)
	}
}

func TestUpNamesTheStepThatFailedAndRunsNothingThatNeedsIt(t *testing.T) {
	var j journal
	cause := errors.New("no disk")
	steps := Steps{
		{Name: "store", Up: j.note("store", cause)},
		{Name: "server", Needs: []string{"store"}, Up: j.note("server", nil)},
	}
	err := steps.Up(t.Context(), quiet())
	if !errors.Is(err, cause) || !strings.HasPrefix(err.Error(), "store: ") {
		t.Errorf("error is %v", err)
	}
	if slices.Contains(j.lines, "server") {
		t.Error("a step ran although the step that it needs had failed")
	}
}

func TestDownRunsInReverseOrderAndContinuesAfterErrors(t *testing.T) {
	var j journal
	steps := Steps{
		{Name: "a", Down: j.note("a", nil)},
		{Name: "b", Down: j.note("b", errors.New("busy"))},
		{Name: "c", Down: j.note("c", nil)},
	}
	err := steps.Down(t.Context())
	if err == nil || err.Error() != "b: busy" {
		t.Errorf("error is %v", err)
	}
	if want := []string{"c", "b", "a"}; !slices.Equal(j.lines, want) {
		t.Errorf("ran %v, want %v", j.lines, want)
	}
}

func TestValidateRefusesANeedOfALaterStep(t *testing.T) {
	steps := Steps{{Name: "a", Needs: []string{"b"}}, {Name: "b"}}
	if steps.Validate() == nil {
		t.Error("a need of a later step was accepted: Up would never end")
	}
	if (Steps{{Name: "a"}, {Name: "a"}}).Validate() == nil {
		t.Error("a duplicate name was accepted")
	}
}
