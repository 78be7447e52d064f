package olmcondition

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

var never time.Time

func TestTracker(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(time.Date(2026, 5, 4, 8, 0, 0, 0, time.UTC))
	pass := func(d time.Duration) { now.SetTime(now.Now().Add(d)) }
	tracker := NewTracker(now)
	a, b := rolling("Memcached", "default", "a"), rolling("Memcached", "default", "b")
	new := rolling("Memcached", "default", "new")
	for _, step := range []struct {
		name     string
		do       func()
		rollouts []Object
		expected []Object
		signals  bool
	}{
		{name: "nothing is known", do: func() {}},
		{name: "an object is reconciled before all are listed", do: func() { tracker.Assessed(a, true, never) }, rollouts: []Object{a}, signals: true},
		{name: "all are listed", do: func() { tracker.Expect([]Object{a, b}) }, rollouts: []Object{a}, expected: []Object{b}},
		{name: "a reconcile is inconclusive", do: func() { tracker.Inconclusive(b, false) }, rollouts: []Object{a}, expected: []Object{b}},
		{name: "a new object", do: func() { tracker.Inconclusive(new, false) }, rollouts: []Object{a}, expected: []Object{b}},
		{name: "nothing is in progress there", do: func() { tracker.Assessed(b, false, never) }, rollouts: []Object{a}, signals: true},
		{name: "the same again", do: func() { tracker.Assessed(a, true, never); tracker.Assessed(b, false, never) }, rollouts: []Object{a}},
		{name: "one ends and another begins", do: func() { tracker.Assessed(a, false, never); tracker.Assessed(b, true, never) }, rollouts: []Object{b}, signals: true},
		{name: "the object is deleted", do: func() { tracker.Gone(b) }, signals: true},
		{name: "it is deleted again", do: func() { tracker.Gone(b) }},
		{name: "a failed reconcile begins one", do: func() { tracker.Inconclusive(a, true) }, rollouts: []Object{a}, signals: true},
		{name: "it goes on failing", do: func() { pass(5*time.Minute - 1); tracker.Inconclusive(a, true) }, rollouts: []Object{a}},
		{name: "for five minutes", do: func() { pass(1) }},
		{name: "it is conclusive again", do: func() { tracker.Assessed(a, true, never) }, rollouts: []Object{a}, signals: true},
		{name: "and inconclusive again", do: func() { tracker.Inconclusive(a, false) }, rollouts: []Object{a}},
		{name: "which counts from now on", do: func() { pass(5*time.Minute - 1) }, rollouts: []Object{a}},
		{name: "the user may have to act", do: func() { tracker.Assessed(a, true, now.Now().Add(time.Minute)) }, rollouts: []Object{a}},
		{name: "nearly a minute later", do: func() { pass(time.Minute - 1) }, rollouts: []Object{a}},
		{name: "a minute later", do: func() { pass(1) }},
	} {
		step.do()
		want := Findings{Rollouts: step.rollouts, NotAssessed: step.expected}
		if difference := cmp.Diff(want, tracker.Findings(), cmpopts.EquateEmpty(), cmpopts.IgnoreFields(Findings{}, "Listed")); difference != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, difference)
		}
		if got := signalled(tracker); got != step.signals {
			t.Errorf("%s: signalled is %t", step.name, got)
		}
	}
}

// An object that cannot be read since the start does not block for ever, and one that is deleted before it is reconciled does not
// either. One that is not reconciled yet does.
func TestTheFirstReconcile(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(time.Date(2026, 5, 4, 8, 0, 0, 0, time.UTC))
	tracker := NewTracker(now)
	unread, deleted, waiting := rolling("Memcached", "default", "unread"), rolling("Memcached", "default", "deleted"), rolling("Memcached", "default", "waiting")
	tracker.Expect([]Object{unread, deleted, waiting})
	tracker.Inconclusive(unread, false)
	now.SetTime(now.Now().Add(5 * time.Minute))
	tracker.Expect([]Object{unread, waiting, rolling("Memcached", "default", "new")})
	if difference := cmp.Diff(Findings{Listed: true, NotAssessed: []Object{waiting}}, tracker.Findings()); difference != "" {
		t.Errorf("findings (-want +got):\n%s", difference)
	}
}

func signalled(tracker *Tracker) bool {
	select {
	case <-tracker.Changed():
		return true
	default:
		return false
	}
}

func TestTrackerIsSafeForConcurrentUse(t *testing.T) {
	tracker := NewTracker(clock.RealClock{})
	done := make(chan struct{})
	for i := range 8 {
		go func() {
			defer func() { done <- struct{}{} }()
			for j := range 100 {
				work := rolling("Memcached", "default", fmt.Sprintf("%d-%d", i, j))
				tracker.Assessed(work, true, never)
				tracker.Findings()
				tracker.Gone(work)
			}
		}()
	}
	for range 8 {
		<-done
	}
	if work := tracker.Findings().Rollouts; len(work) > 0 {
		t.Errorf("left: %v", work)
	}
}
