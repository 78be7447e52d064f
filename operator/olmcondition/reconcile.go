package olmcondition

import (
	"slices"
	"strings"
	"time"

	"github.com/example/memcached-operator/operator/kube/apply"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
	"github.com/example/memcached-operator/operator/kube/workload"
)

// Reconcile is what a reconcile of an object tells about a rollout of its pods.
type Reconcile struct {
	// Object is the object that was reconciled.
	Object Object

	// HasRecords is true for a kind whose pod templates are recorded.
	HasRecords bool

	// Recorded is true if the records of the object say that only the operator wanted its pod template, and the rollout of that
	// has never been complete.
	Recorded bool

	// Changes are the writes of this reconcile that only the operator wanted, for a kind without records.
	Changes []apply.Change

	// Rollout is the status of the workload after this reconcile, nil if there is none.
	Rollout *workload.Status

	// UserActs is from when on the user has to act; zero if the user has not.
	UserActs time.Time

	// Err is the error of the reconcile.
	Err error
}

// Reconciled updates the tracker after a reconcile. A rollout is the operator's own if the records of the object say so. That of an
// object without records begins when the operator has changed the pod template, and is remembered. A rollout ends when it is
// complete, or when the operator cannot finish it: pods fail, or the Deployment is paused or belongs to another owner. A problem
// that the user has to fix never blocks an upgrade, because the upgrade may fix it.
func (t *Tracker) Reconciled(run Reconcile) {
	begins := slices.ContainsFunc(run.Changes, startsRollout)
	ended := run.Rollout == nil || run.Rollout.Paused || run.Rollout.Complete()
	switch class, _ := reconcileerror.Describe(run.Err); {
	case class == reconcileerror.Outdated:
		t.Inconclusive(run.Object, begins)
	case class == reconcileerror.Failed:
		t.Inconclusive(run.Object, begins || run.Recorded && (run.Rollout == nil || !ended))
	case ended || !run.UserActs.IsZero() && !t.clock.Now().Before(run.UserActs):
		t.Assessed(run.Object, false, time.Time{})
	default:
		t.Assessed(run.Object, run.Recorded || begins || !run.HasRecords && t.InRollout(run.Object), run.UserActs)
	}
}

// startsRollout tells whether a write may make Kubernetes replace pods.
func startsRollout(change apply.Change) bool {
	if change.Object.Kind != "Deployment" && change.Object.Kind != "StatefulSet" {
		return false
	}
	switch change.Action {
	case apply.Updated:
		// For any fields: a field that was removed from the configuration is not listed. The rollout of a change outside
		// the template is complete at once.
		return true
	case apply.Repaired:
		return slices.ContainsFunc(change.Fields, inTemplate)
	}
	return false
}

func inTemplate(path string) bool { return strings.HasPrefix(path, "spec.template.") }
