package olmcondition

import (
	"errors"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/clock"

	"github.com/example/memcached-operator/operator/kube/apply"
	"github.com/example/memcached-operator/operator/kube/owned"
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

func change(action apply.Action, kind string, fields ...string) []apply.Change {
	reference := owned.Reference{GroupVersionKind: appsv1.SchemeGroupVersion.WithKind(kind), Namespace: "default", Name: "cache"}
	return []apply.Change{{Action: action, Object: reference, Fields: fields}}
}

// past is when the user has to act if that is now.
var past = time.Date(2026, 5, 4, 8, 0, 0, 0, time.UTC)

const imagePath = `spec.template.spec.containers[name="memcached"].image`

func TestAReconcileBeginsAndEndsARollout(t *testing.T) {
	const begins, ends, goesOn = "begins", "ends", "goes on"
	updated := change(apply.Updated, "Deployment", imagePath)
	for name, test := range map[string]struct {
		reconcile Reconcile
		want      string
	}{
		"the operator wants another template": {
			Reconcile{Changes: updated, Rollout: status(0)}, begins,
		},
		"the operator has given up a field, which is not named": {
			Reconcile{Changes: change(apply.Updated, "Deployment", "metadata.annotations.hash"), Rollout: status(0)}, begins,
		},
		"the operator puts a template back": {
			Reconcile{Changes: change(apply.Repaired, "Deployment", imagePath), Rollout: status(0)}, begins,
		},
		"the operator puts the number of pods back": {
			Reconcile{Changes: change(apply.Repaired, "Deployment", "spec.replicas"), Rollout: status(0)}, goesOn,
		},
		"a Deployment is made": {
			Reconcile{Changes: change(apply.Created, "Deployment"), Rollout: status(0)}, goesOn,
		},
		"another kind of object is changed": {
			Reconcile{Changes: change(apply.Updated, "Service", "spec.ports"), Rollout: status(0)}, goesOn,
		},
		"nothing is changed in mid-rollout": {
			Reconcile{Rollout: status(1)}, goesOn,
		},
		"the records say so": {
			Reconcile{HasRecords: true, Recorded: true, Rollout: status(1)}, begins,
		},
		"the records do not say so": {
			Reconcile{HasRecords: true, Rollout: status(1)}, ends,
		},
		"the records say so, and the rollout has ended": {
			Reconcile{HasRecords: true, Recorded: true, Rollout: status(2)}, ends,
		},
		"the records say so, and pods fail": {
			Reconcile{HasRecords: true, Recorded: true, Rollout: status(1), UserActs: past}, ends,
		},
		"the records say so, and pods may fail": {
			Reconcile{HasRecords: true, Recorded: true, Rollout: status(1), UserActs: time.Now().Add(time.Hour)}, begins,
		},
		"the records say so, and the API server fails": {
			Reconcile{HasRecords: true, Recorded: true, Rollout: status(1), UserActs: past, Err: errors.New("reset")}, begins,
		},
		"the records say so, and the API server fails after the rollout": {
			Reconcile{HasRecords: true, Recorded: true, Rollout: status(2), UserActs: past, Err: errors.New("reset")}, goesOn,
		},
		"the records that say so may be old": {
			Reconcile{HasRecords: true, Recorded: true, Rollout: status(1), Err: reconcileerror.Stale(errors.New("old"))}, goesOn,
		},
		"the rollout has ended": {
			Reconcile{Rollout: status(2)}, ends,
		},
		"there is no Deployment": {
			Reconcile{}, ends,
		},
		"somebody has paused the Deployment": {
			Reconcile{Rollout: paused(status(1))}, ends,
		},
		"pods fail in mid-rollout": {
			Reconcile{Rollout: status(1), UserActs: past}, ends,
		},
		"pods fail when the template changes": {
			Reconcile{Changes: updated, Rollout: status(0), UserActs: past}, ends,
		},
		"the user has to act": {
			Reconcile{Rollout: status(1), UserActs: past, Err: reconcileerror.Terminal("NameConflict", errors.New("taken"))}, ends,
		},
		"an object is refused": {
			Reconcile{Rollout: status(1), UserActs: past, Err: reconcileerror.Waiting("Rejected", time.Minute, errors.New("no"))}, ends,
		},
		"the template is changed and then the API server fails": {
			Reconcile{Changes: updated, Rollout: status(0), UserActs: past, Err: errors.New("reset")}, begins,
		},
		"the API server fails in mid-rollout": {
			Reconcile{UserActs: past, Err: errors.New("reset")}, goesOn,
		},
		"old copies are seen": {
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
