package olmcondition

import (
	"slices"
	"strings"

	"github.com/example/memcached-operator/operator/kube/apply"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
	"github.com/example/memcached-operator/operator/kube/workload"
)

// Reconcile is what one reconcile of an object tells about a rollout of its pods.
type Reconcile struct {
	// Object is the object that was reconciled.
	Object Object

	// SpecApplied tells whether the object's spec had been carried over before this pass began. Then what was changed in
	// this pass was changed because of the operator, and not because the user wants something else.
	SpecApplied bool

	// Changes are the writes of this pass.
	Changes []apply.Change

	// Rollout is how far the pods were at the end of this pass, nil if nothing runs them.
	Rollout *workload.Status

	// Degraded is what the object's status says now.
	Degraded bool

	// Err is what the pass ended with.
	Err error
}

// Reconciled takes note of a pass: it begins work when the operator itself has changed the template of the pods, and ends it
// when the rollout has. It ends as well when the rollout is not the operator's to finish: pods that fail, a Deployment
// that somebody has paused or taken. What users have to mend never keeps them from an upgrade, which may be what mends
// it.
func (t *Tracker) Reconciled(pass Reconcile) {
	switch account := pass.Rollout; {
	case conclusive(pass.Err) && (pass.Degraded || account == nil || account.Paused || account.Complete()):
		t.End(pass.Object)
	case pass.SpecApplied && slices.ContainsFunc(pass.Changes, startsRollout):
		t.Begin(Work{Object: pass.Object, Reason: ReasonRolloutInProgress})
	}
}

// conclusive tells whether a pass saw things as they are. One that failed on the way, or worked with old copies, did not.
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
		// Whatever its fields: one that the operator has stopped to want is not among them. A change outside the template
		// settles within moments.
		return true
	case apply.Repaired:
		return slices.ContainsFunc(change.Fields, inTemplate)
	}
	return false
}

func inTemplate(path string) bool { return strings.HasPrefix(path, "spec.template.") }
