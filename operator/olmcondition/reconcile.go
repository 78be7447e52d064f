package olmcondition

import (
	"time"

	"github.com/example/memcached-operator/operator/kube/reconcileerror"
	"github.com/example/memcached-operator/operator/kube/workload"
)

// Reconcile is what a reconcile of an object tells about a rollout of its pods.
type Reconcile struct {
	// Object is the object that was reconciled.
	Object Object

	// RolloutByOperator is true if the objects in the cluster say that only the operator wanted the pod template, and that its rollout
	// has never been complete.
	RolloutByOperator bool

	// Rollout is the status of the workload after this reconcile, nil if there is none.
	Rollout *workload.Status

	// UserActs is from when on the user has to act; zero if the user has not.
	UserActs time.Time

	// Err is the error of the reconcile.
	Err error
}

// Reconciled updates the tracker after a reconcile. A rollout is the operator's own if the objects say so. It ends when it is
// complete, or when the operator cannot finish it: pods fail, or the Deployment is paused or belongs to another owner. A problem
// that the user has to fix never blocks an upgrade, because the upgrade may fix it.
func (t *Tracker) Reconciled(run Reconcile) {
	ended := run.Rollout == nil || run.Rollout.Paused || run.Rollout.Complete()
	switch class, _ := reconcileerror.Describe(run.Err); {
	case class == reconcileerror.Outdated:
		t.Inconclusive(run.Object, false)
	case class == reconcileerror.Failed:
		t.Inconclusive(run.Object, run.RolloutByOperator && (run.Rollout == nil || !ended))
	case ended || !run.UserActs.IsZero() && !t.clock.Now().Before(run.UserActs):
		t.Assessed(run.Object, false, time.Time{})
	default:
		t.Assessed(run.Object, run.RolloutByOperator, run.UserActs)
	}
}
