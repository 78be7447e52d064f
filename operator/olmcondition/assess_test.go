package olmcondition

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func rolling(kind, namespace, name string) Object {
	return Object{Kind: kind, NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

func TestAssess(t *testing.T) {
	const replacing = "Pods are being replaced because the operator changed their template: wait for "
	const override = ". The rollout ends by itself; to upgrade now, set Upgradeable to True in spec.overrides"
	for name, test := range map[string]struct {
		work    []Object
		status  metav1.ConditionStatus
		reason  string
		message string
	}{
		"nothing is in progress": {
			status: metav1.ConditionTrue, reason: "NothingInProgress",
			message: "No rollout is in progress",
		},
		"one rollout": {
			work:   []Object{rolling("Memcached", "default", "cache")},
			status: metav1.ConditionFalse, reason: "RolloutInProgress",
			message: replacing + "Memcached default/cache" + override,
		},
		"several are listed in alphabetical order": {
			work:   []Object{rolling("Memcached", "b", "x"), rolling("Application", "z", "x"), rolling("Memcached", "a", "x")},
			status: metav1.ConditionFalse, reason: "RolloutInProgress",
			message: replacing + "Application z/x, Memcached a/x, Memcached b/x" + override,
		},
		"only three of many are named": {
			work:   []Object{rolling("K", "n", "5"), rolling("K", "n", "1"), rolling("K", "n", "3"), rolling("K", "n", "2"), rolling("K", "n", "4")},
			status: metav1.ConditionFalse, reason: "RolloutInProgress",
			message: replacing + "K n/1, K n/2, K n/3 and 2 more" + override,
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range len(test.work) + 1 {
				status, reason, message := Assess(test.work)
				if status != test.status || reason != test.reason || message != test.message {
					t.Errorf("got %s %s %q, want %s %s %q", status, reason, message, test.status, test.reason, test.message)
				}
				if len(test.work) > 1 { // The order of the objects does not matter.
					test.work = append(test.work[1:], test.work[0])
				}
			}
		})
	}
}

func TestTracker(t *testing.T) {
	tracker := NewTracker()
	first, second := rolling("Memcached", "default", "a"), rolling("Memcached", "default", "b")
	for _, step := range []struct {
		name    string
		do      func()
		want    []Object
		signals bool
	}{
		{name: "nothing at first", do: func() {}},
		{name: "one begins", do: func() { tracker.Begin(first) }, want: []Object{first}, signals: true},
		{name: "it begins again", do: func() { tracker.Begin(first) }, want: []Object{first}},
		{name: "another begins", do: func() { tracker.Begin(second) }, want: []Object{first, second}, signals: true},
		{name: "one ends", do: func() { tracker.End(first) }, want: []Object{second}, signals: true},
		{name: "it ends again", do: func() { tracker.End(first) }, want: []Object{second}},
		{name: "two changes, one signal", do: func() { tracker.End(second); tracker.Begin(first) }, want: []Object{first}, signals: true},
	} {
		step.do()
		got := tracker.Rollouts()
		slices.SortFunc(got, func(a, b Object) int { return strings.Compare(a.Name, b.Name) })
		if !slices.Equal(got, step.want) {
			t.Errorf("%s: got %v, want %v", step.name, got, step.want)
		}
		if got := signalled(tracker); got != step.signals {
			t.Errorf("%s: signalled is %t", step.name, got)
		}
		if signalled(tracker) {
			t.Errorf("%s: a second signal", step.name)
		}
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
	tracker := NewTracker()
	done := make(chan struct{})
	for i := range 8 {
		go func() {
			defer func() { done <- struct{}{} }()
			for j := range 100 {
				work := rolling("Memcached", "default", fmt.Sprintf("%d-%d", i, j))
				tracker.Begin(work)
				tracker.Rollouts()
				tracker.End(work)
			}
		}()
	}
	for range 8 {
		<-done
	}
	if work := tracker.Rollouts(); len(work) > 0 {
		t.Errorf("left: %v", work)
	}
}
