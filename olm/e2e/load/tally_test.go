package load_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/example/memcached-operator/olm/e2e/load"
)

// answers is a server that gives one answer after the other.
type answers []error

func (answers) Name() string { return "answers" }
func (answers) Close() error { return nil }
func (a *answers) Ask(_ context.Context, done func(error)) {
	done((*a)[0])
	*a = (*a)[1:]
}

func TestATallyCountsForOneServerAndPassesOn(t *testing.T) {
	first, last := errors.New("the first"), errors.New("the last")
	tally := load.NewTally(&answers{nil, first, nil, last, nil})
	if none := tally.Outcome(); none.Missed() != 0 || none.Requests != 0 {
		t.Errorf("before anything was asked: %+v", none)
	}
	var passed []error
	for range 5 {
		tally.Ask(t.Context(), func(err error) { passed = append(passed, err) })
	}
	got := tally.Outcome()
	if got.Requests != 5 || got.Failed != 2 || !errors.Is(got.Failure, first) || got.Last.Before(got.First) {
		t.Errorf("counted %+v", got)
	}
	if len(passed) != 5 || !errors.Is(passed[1], first) || !errors.Is(passed[3], last) {
		t.Errorf("passed on %v", passed)
	}
}

func TestFailuresOverlap(t *testing.T) {
	at := func(from, to int) load.Outcome {
		begin := time.Unix(1_000_000, 0)
		return load.Outcome{Failed: 2, First: begin.Add(time.Duration(from) * time.Second), Last: begin.Add(time.Duration(to) * time.Second)}
	}
	for name, test := range map[string]struct {
		one, other load.Outcome
		want       bool
	}{
		"one after the other":     {at(0, 2), at(3, 5), false},
		"one within the other":    {at(0, 9), at(3, 5), true},
		"the end in the other":    {at(0, 4), at(3, 5), true},
		"one that never fails":    {at(0, 9), load.Outcome{Requests: 3}, false},
		"none that fails":         {load.Outcome{}, load.Outcome{}, false},
		"in the same two moments": {at(1, 2), at(1, 2), true},
	} {
		t.Run(name, func(t *testing.T) {
			if test.one.Overlaps(test.other) != test.want || test.other.Overlaps(test.one) != test.want {
				t.Errorf("want %t", test.want)
			}
		})
	}
	if got := at(1, 4).Missed(); got != 3*time.Second {
		t.Errorf("missed for %s", got)
	}
}
