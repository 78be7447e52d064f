package olmcondition

import (
	"slices"
	"strings"

	"github.com/example/memcached-operator/operator/kube/apply"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
	"github.com/example/memcached-operator/operator/kube/workload"
)

// Reconcile is what a reconcile of an object tells about a rollout of its pods.
type Reconcile struct {
	// Object is the object that was reconciled.
	Object Object

	// SpecApplied tells whether the object's spec had been applied before this reconcile. Then the operator, not the
	// user, is the cause of this reconcile's changes.
	SpecApplied bool

	// Changes are the writes of this reconcile.
	Changes []apply.Change

	// Rollout is the status of the workload after this reconcile, nil if there is none.
	Rollout *workload.Status

	// Degraded is true if the object's condition Degraded is True.
	Degraded bool

	// Err is the error of the reconcile.
	Err error
}

// Reconciled updates the tracker after a reconcile. A rollout begins when the operator itself has changed the pod template,
// and ends when it is complete. It also ends if the operator cannot finish the rollout: pods fail, or the
// Deployment is paused or belongs to another owner. A problem that the user has to fix never blocks an upgrade, because
// the upgrade may fix it.
func (t *Tracker) Reconciled(run Reconcile) {
	switch rollout := run.Rollout; {
	case conclusive(run.Err) && (run.Degraded || rollout == nil || rollout.Paused || rollout.Complete()):
		t.End(run.Object)
	case run.SpecApplied && slices.ContainsFunc(run.Changes, startsRollout):
		t.Begin(run.Object)
	}
}

// conclusive tells whether a reconcile saw the current state. One that failed or used outdated objects did not.
func conclusive(err error) bool {
	class, _ := reconcileerror.Describe(err)
	return class != reconcileerror.Failed && class != reconcileerror.Outdated
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
