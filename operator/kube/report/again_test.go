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

// written returns the outcome of a reconcile that has written a status.
func written(conditions []metav1.Condition) Outcome {
	o := outcome(1, of(1), conditions)
	o.After.SetResourceVersion("2")
	return o
}

var settled = append(of(1, v1alpha1.ConditionAvailable), metav1.Condition{Type: v1alpha1.ConditionProgressing, Status: metav1.ConditionFalse})

func TestOneMoreReconcileFollowsAStatusThatMayChangeUnwatched(t *testing.T) {
	unsettled, refused := written(settled), written(settled)
	unsettled.Unsettled, refused.Err = true, errors.New("a quota refuses it")
	for name, test := range map[string]struct {
		Outcome
		want time.Duration
	}{
		"all is as it should be":       {Outcome: written(settled)},
		"an agent has not answered":    {unsettled, watch.StatusDelay},
		"something is refused":         {refused, watch.StatusDelay},
		"pods are missing":             {written(of(1, v1alpha1.ConditionProgressing)), watch.StatusDelay},
		"nothing is known yet":         {written(of(1)), watch.StatusDelay},
		"the status has not changed":   {Outcome: outcome(1, of(1), of(1, v1alpha1.ConditionProgressing))},
		"nor has that of a calm cache": {Outcome: outcome(1, of(1), settled)},
	} {
		t.Run(name, func(t *testing.T) {
			reporter := &Reporter{Clock: clocktesting.NewFakePassiveClock(testkit.Now.Time)}
			if got := reporter.again(test.Outcome); got != test.want {
				t.Errorf("it is reconciled again after %s, want %s", got, test.want)
			}
		})
	}
}

// The event of an owned object that the operator wrote just before its status is put off for as long as the reconcile that
// follows the status.
func TestAReconcileJustBeforeTheOneThatFollowsServesBoth(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(testkit.Now.Time)
	reporter, unchanged := &Reporter{Clock: clock}, outcome(1, of(1), of(1))
	reporter.again(written(of(1)))
	clock.SetTime(testkit.Now.Add(watch.StatusDelay - 100*time.Millisecond))
	if got := reporter.again(unchanged); got != 0 {
		t.Errorf("100 ms before the end of the wait, it is reconciled again after %s", got)
	}
}

// The queue has one entry for each object: what is reconciled earlier takes the place of what was to come.
func TestAReconcileInBetweenDoesNotReplaceTheOneThatFollows(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(testkit.Now.Time)
	reporter, unchanged := &Reporter{Clock: clock}, outcome(1, of(1), of(1))
	reporter.again(written(of(1)))
	for _, step := range []struct{ after, want time.Duration }{
		{time.Second, watch.StatusDelay - time.Second}, {watch.StatusDelay, 0}, {watch.StatusDelay + time.Second, 0},
	} {
		clock.SetTime(testkit.Now.Add(step.after))
		if got := reporter.again(unchanged); got != step.want {
			t.Errorf("after %s it is reconciled again after %s, want %s", step.after, got, step.want)
		}
	}
	reporter.again(written(of(1)))
	if got := reporter.again(written(settled)); got != 0 {
		t.Errorf("after a status that is settled, it is reconciled again after %s", got)
	}
}
