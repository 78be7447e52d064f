package report

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/kube/watch"
)

// of returns conditions of a generation, of which those of the given types are True.
func of(generation int64, are ...string) []metav1.Condition {
	conditions := []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, ObservedGeneration: generation}}
	for _, kind := range are {
		conditions = append(conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, ObservedGeneration: generation})
	}
	return conditions
}

func outcome(generation int64, before, after []metav1.Condition) Outcome {
	make := func(conditions []metav1.Condition) *v1alpha1.Memcached {
		object := testkit.MakeMemcached("cache").Status(v1alpha1.MemcachedStatus{Conditions: conditions}).Obj()
		object.Generation = generation
		return object
	}
	return Outcome{Before: make(before), After: make(after)}
}

func TestAStatusThatOnlySaysThatASpecIsBeingAppliedWaits(t *testing.T) {
	const progressing, available = v1alpha1.ConditionProgressing, v1alpha1.ConditionAvailable
	failed := outcome(1, nil, of(1, progressing))
	failed.Err = errors.New("failed")
	for name, test := range map[string]struct {
		Outcome
		waits bool
	}{
		"a new cache starts":                           {outcome(1, nil, of(1, progressing)), true},
		"a new cache is ready":                         {outcome(1, nil, of(1, available)), false},
		"a new spec is being applied":                  {outcome(2, of(1, available), of(2, available, progressing)), true},
		"a reported spec is still being applied":       {outcome(2, of(2, progressing), of(2, available, progressing)), false},
		"a pod of a reported spec was lost":            {outcome(2, of(2, available), of(2, progressing)), false},
		"something is wrong":                           {outcome(1, nil, of(1, progressing, v1alpha1.ConditionDegraded)), false},
		"a change waits for approval":                  {outcome(2, of(1), of(2, progressing, v1alpha1.ConditionUpdatePending)), false},
		"the reconcile failed":                         {failed, false},
		"another client's condition is not about this": {outcome(1, of(0, "Theirs"), append(of(0, "Theirs"), of(1, progressing)...)), true},
	} {
		t.Run(name, func(t *testing.T) {
			reporter := &Reporter{Clock: clocktesting.NewFakePassiveClock(testkit.Now.Time)}
			want := time.Duration(0)
			if test.waits {
				want = watch.StatusDelay
			}
			if got := reporter.wait(test.Outcome); got != want {
				t.Errorf("it waits %s, want %s", got, want)
			}
		})
	}
}

func TestAStatusWaitsOnceForEachGeneration(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(testkit.Now.Time)
	reporter := &Reporter{Clock: clock}
	starts := outcome(1, nil, of(1, v1alpha1.ConditionProgressing))
	for _, step := range []struct{ after, want time.Duration }{
		{0, watch.StatusDelay}, {watch.StatusDelay - time.Second, time.Second}, {watch.StatusDelay, 0}, {time.Hour, 0},
	} {
		clock.SetTime(testkit.Now.Add(step.after))
		if got := reporter.wait(starts); got != step.want {
			t.Errorf("after %s it waits %s, want %s", step.after, got, step.want)
		}
	}
	changed := outcome(2, of(1), of(2, v1alpha1.ConditionProgressing))
	if got := reporter.wait(changed); got != watch.StatusDelay {
		t.Errorf("the next generation waits %s", got)
	}
}
