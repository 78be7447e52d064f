package olmcondition

import (
	"errors"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/example/memcached-operator/operator/kube/reconcileerror"
	"github.com/example/memcached-operator/operator/kube/workload"
)

// status returns that of a workload with two pods, so many of which have the latest template.
func status(updated int32) *workload.Status {
	return &workload.Status{Wanted: 2, Observed: true, Replicas: 2, Ready: 2, Updated: updated}
}

func paused(status *workload.Status) *workload.Status {
	status.Paused = true
	return status
}

// past is when the user has to act if that is now.
var past = time.Date(2026, 5, 4, 8, 0, 0, 0, time.UTC)

func TestAReconcileBeginsAndEndsARollout(t *testing.T) {
	const begins, ends, goesOn = "begins", "ends", "goes on"
	for name, test := range map[string]struct {
		reconcile Reconcile
		want      string
	}{
		"the operator replaces pods": {
			Reconcile{RolloutByOperator: true, Rollout: status(1)}, begins,
		},
		"somebody else replaces pods": {
			Reconcile{Rollout: status(1)}, ends,
		},
		"the rollout has ended": {
			Reconcile{RolloutByOperator: true, Rollout: status(2)}, ends,
		},
		"there is no workload": {
			Reconcile{}, ends,
		},
		"somebody has paused the Deployment": {
			Reconcile{RolloutByOperator: true, Rollout: paused(status(1))}, ends,
		},
		"pods fail": {
			Reconcile{RolloutByOperator: true, Rollout: status(1), UserActs: past}, ends,
		},
		"pods may fail": {
			Reconcile{RolloutByOperator: true, Rollout: status(1), UserActs: time.Now().Add(time.Hour)}, begins,
		},
		"the user has to act": {
			Reconcile{RolloutByOperator: true, Rollout: status(1), UserActs: past, Err: reconcileerror.Terminal("NameConflict", errors.New("taken"))}, ends,
		},
		"an object is refused": {
			Reconcile{RolloutByOperator: true, Rollout: status(1), UserActs: past, Err: reconcileerror.Waiting("Rejected", time.Minute, errors.New("no"))}, ends,
		},
		"the API server fails": {
			Reconcile{RolloutByOperator: true, Rollout: status(1), UserActs: past, Err: errors.New("reset")}, begins,
		},
		"the API server fails, and the workload is not read": {
			Reconcile{UserActs: past, Err: errors.New("reset")}, goesOn,
		},
		"the API server fails after the rollout": {
			Reconcile{RolloutByOperator: true, Rollout: status(2), UserActs: past, Err: errors.New("reset")}, goesOn,
		},
		"old copies say that the operator replaces pods": {
			Reconcile{RolloutByOperator: true, Rollout: status(1), Err: reconcileerror.Stale(errors.New("old"))}, goesOn,
		},
		"old copies say that the rollout has ended": {
			Reconcile{Rollout: status(2), Err: reconcileerror.Stale(errors.New("old"))}, goesOn,
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.reconcile.Object = rolling("Memcached", "default", "cache")
			idle, busy := NewTracker(clock.RealClock{}), NewTracker(clock.RealClock{})
			busy.Assessed(test.reconcile.Object, true, never)
			idle.Reconciled(test.reconcile)
			busy.Reconciled(test.reconcile)
			switch got := [2]int{len(idle.Findings().Rollouts), len(busy.Findings().Rollouts)}; {
			case got == [2]int{1, 1} && test.want == begins:
			case got == [2]int{0, 0} && test.want == ends:
			case got == [2]int{0, 1} && test.want == goesOn:
			default:
				t.Errorf("rollouts when there was none and when there was one: %v; want that it %s", got, test.want)
			}
		})
	}
}
