// Package report is the beginning and the end of every reconcile: it reads the object, and reports the result in the object's
// status, in the log, in events and metrics, and to OLM.
package report

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	appv1alpha1 "github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/apply"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
	"github.com/example/memcached-operator/operator/kube/workload"
	"github.com/example/memcached-operator/operator/metrics"
	"github.com/example/memcached-operator/operator/olmcondition"
)

// maxFieldsNamed keeps the note of an event readable, and below the 1024 characters that the API allows.
const maxFieldsNamed = 5

// warnings are the condition reasons that are also reported by an event, because the user has to act.
var warnings = map[string]bool{
	v1alpha1.ReasonNameConflict:     true,
	v1alpha1.ReasonRejected:         true,
	appv1alpha1.ReasonHostConflict:  true,
	appv1alpha1.ReasonCacheNotFound: true,
}

// waits are how long to wait whether a problem resolves by itself before the user has to act. The scheduler finds no node for a
// moment, for example, while a pod that has to give way is still ending.
var waits = map[string]time.Duration{
	v1alpha1.ReasonNodesUnschedulable:   time.Minute,
	appv1alpha1.ReasonPodsUnschedulable: time.Minute,
}

// Object is a custom resource of the operator.
type Object interface {
	client.Object

	// GetConditions returns the conditions of the status.
	GetConditions() []metav1.Condition
}

// Reporter reads objects of one kind, and reports on them.
type Reporter struct {
	// Kind is the kind of the objects.
	Kind string

	// Client reads objects from the cache and writes statuses.
	Client client.Client

	// Recorder emits events.
	Recorder record.EventRecorder

	// Metrics counts reconciles by result.
	Metrics *metrics.Metrics

	// Work tracks rollouts that an upgrade of the operator should wait for.
	Work *olmcondition.Tracker

	// Clock tells how long a status has waited.
	Clock clock.PassiveClock

	// written maps names to the last status that was written.
	written sync.Map

	// waiting maps names to the waitingStatus that has not been written yet.
	waiting sync.Map

	// due maps names to the time of the reconcile that follows a status.
	due sync.Map
}

// Read reads the object to reconcile. If it returns false, there is nothing to reconcile: the object is gone, or the error says
// why it cannot be reconciled now. The error is Stale if the cached copy is older than the last status that was written: a
// reconcile of it would write the same status again. Another one follows when the cache has seen the write.
func (r *Reporter) Read(ctx context.Context, name types.NamespacedName, object Object) (bool, error) {
	err := r.Client.Get(ctx, name, object)
	if apierrors.IsNotFound(err) || err == nil && !object.GetDeletionTimestamp().IsZero() {
		r.Work.Gone(r.tracked(name))
		r.written.Delete(name)
		r.waiting.Delete(name)
		r.due.Delete(name)
		return false, nil // The garbage collector deletes what the object owns.
	}
	if err != nil {
		r.Work.Inconclusive(r.tracked(name), false)
		return false, err
	}
	if r.lastWritten(name).from == object.GetResourceVersion() {
		return false, reconcileerror.Stale(errors.New("the cached copy is older than the status that was written last"))
	}
	return true, nil
}

// writtenStatus is a status that was written.
type writtenStatus struct {
	from, to string // The resourceVersions of what it was computed from, and of the object with it.
}

// Outcome is the result of a reconcile.
type Outcome struct {
	// Before is the object as it was read, and After the same object with a new status.
	Before, After Object

	// RolloutByOperator is true if the objects in the cluster say that only the operator wanted the pod template, and that its rollout
	// has never been complete.
	RolloutByOperator bool

	// Changes are the writes to owned objects.
	Changes []apply.Change

	// Step is what was done to a running pod, the zero value if nothing was done.
	Step Step

	// Warnings are the conditions that also give an event when they are True with another message, because the user has to act: the
	// reason of the event by the type of the condition.
	Warnings map[string]string

	// Rollout is the status of the workload, nil if there is none.
	Rollout *workload.Status

	// Unsettled is true if something that is not watched may change the status soon.
	Unsettled bool

	// Err is the error of the reconcile, nil if it succeeded.
	Err error
}

// Step is one step of an update of pods.
type Step struct {
	// Text says what was done and why, for the log and an event.
	Text string

	// IgnoresRestart is true if the pod has been left alone although somebody asked for a restart of the workload.
	IgnoresRestart bool
}

// Report reports the outcome of a reconcile. It returns its error, and when to reconcile again because of the status, 0 if not at all:
// when a status that waits is due, and once after a status that something unwatched may change soon. Changes are reported first and even if the reconcile
// failed: a repeated reconcile has nothing left to do and would not report them. A new reason of the condition Ready is
// reported after the status is written, so that a repeated reconcile does not report it twice. No status is written if the
// error is Stale.
func (r *Reporter) Report(ctx context.Context, o Outcome) (time.Duration, error) {
	r.announceChanges(ctx, o.Before, o.Changes)
	if o.Step.Text != "" {
		log.FromContext(ctx).Info(o.Step.Text)
		if o.Step.IgnoresRestart {
			r.Recorder.Event(o.Before, corev1.EventTypeWarning, v1alpha1.EventRestartIgnored, o.Step.Text)
		} else {
			r.Recorder.Event(o.Before, corev1.EventTypeNormal, v1alpha1.EventNodeUpdating, o.Step.Text)
		}
	}
	wait := r.wait(o)
	if wait == 0 && !reconcileerror.IsStale(o.Err) {
		if err := r.WriteStatus(ctx, o.Before, o.After); err != nil {
			o.Err = err
		} else {
			r.announceReady(ctx, o.Before, o.After)
			r.announceWarnings(o)
			wait = r.again(o)
		}
	}
	r.track(o)
	if ctx.Err() != nil {
		return 0, nil // The operator is stopping, which is not a failure. The next leader reconciles again.
	}
	r.Metrics.Reconciled(r.Kind, o.Err)
	return wait, o.Err
}

// track tells OLM's condition what the reconcile says about a rollout.
func (r *Reporter) track(o Outcome) {
	run := olmcondition.Reconcile{
		Object:            r.tracked(client.ObjectKeyFromObject(o.Before)),
		RolloutByOperator: o.RolloutByOperator, Rollout: o.Rollout, Err: o.Err,
	}
	if degraded := apimeta.FindStatusCondition(o.After.GetConditions(), v1alpha1.ConditionDegraded); degraded != nil && degraded.Status == metav1.ConditionTrue {
		run.UserActs = degraded.LastTransitionTime.Add(waits[degraded.Reason])
	}
	r.Work.Reconciled(run)
}

func (r *Reporter) tracked(name types.NamespacedName) olmcondition.Object {
	return olmcondition.Object{Kind: r.Kind, NamespacedName: name}
}

// WriteStatus writes the status if it has changed, and gives after the new resourceVersion. It sends a patch, so that fields of a
// newer version of the operator are kept, with the resourceVersion, so that the API server rejects a status computed from an
// outdated copy.
func (r *Reporter) WriteStatus(ctx context.Context, before, after Object) error {
	if equality.Semantic.DeepEqual(before, after) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	// The patch overwrites its argument with the API server's answer, and after is still needed.
	written := after.DeepCopyObject().(client.Object)
	err := r.Client.Status().Patch(ctx, written, patch, client.FieldOwner(owned.Manager))
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		// Usually the object was deleted in the meantime, and the next reconcile finds none. But the API server also says that it finds
		// nothing while it takes over another version of the CRD.
		return reconcileerror.Stale(fmt.Errorf("write the status: %w", err))
	case err != nil:
		return fmt.Errorf("write the status: %w", err)
	}
	if written.GetResourceVersion() != before.GetResourceVersion() {
		r.written.Store(client.ObjectKeyFromObject(before), writtenStatus{before.GetResourceVersion(), written.GetResourceVersion()})
	} // Otherwise nothing has changed, for example because the CRD of an older release has none of the fields.
	after.SetResourceVersion(written.GetResourceVersion())
	return nil
}

// Wrote reports whether an object is as the last status write has left it.
func (r *Reporter) Wrote(object client.Object) bool {
	return r.lastWritten(client.ObjectKeyFromObject(object)).to == object.GetResourceVersion()
}

func (r *Reporter) lastWritten(name types.NamespacedName) writtenStatus {
	known, _ := r.written.Load(name)
	written, _ := known.(writtenStatus)
	return written
}

func (r *Reporter) announceChanges(ctx context.Context, owner Object, changes []apply.Change) {
	for _, change := range changes {
		logger := log.FromContext(ctx).WithValues("object", change.Object.Name)
		if len(change.Fields) > 0 {
			logger = logger.WithValues("fields", firstOf(change.Fields))
		}
		logger.Info(string(change.Action) + " " + change.Object.Kind)
		if change.Action == apply.Repaired {
			r.Recorder.Eventf(owner, corev1.EventTypeWarning, v1alpha1.EventDriftRepaired,
				"%s %s was changed by another client; restored %s",
				change.Object.Kind, change.Object.Name, firstOf(change.Fields))
		}
	}
}

func (r *Reporter) announceReady(ctx context.Context, before, after Object) {
	was := apimeta.FindStatusCondition(before.GetConditions(), v1alpha1.ConditionReady)
	now := apimeta.FindStatusCondition(after.GetConditions(), v1alpha1.ConditionReady)
	if now == nil || was != nil && was.Reason == now.Reason {
		return
	}
	log.FromContext(ctx).Info("Ready is "+string(now.Status), "reason", now.Reason, "message", now.Message)
	if warnings[now.Reason] {
		r.Recorder.Event(before, corev1.EventTypeWarning, now.Reason, now.Message)
	}
}

func (r *Reporter) announceWarnings(o Outcome) {
	for _, kind := range slices.Sorted(maps.Keys(o.Warnings)) {
		was := apimeta.FindStatusCondition(o.Before.GetConditions(), kind)
		now := apimeta.FindStatusCondition(o.After.GetConditions(), kind)
		if now != nil && now.Status == metav1.ConditionTrue && (was == nil || was.Message != now.Message) {
			r.Recorder.Event(o.Before, corev1.EventTypeWarning, o.Warnings[kind], now.Message)
		}
	}
}

// firstOf returns the first paths and the number of the others.
func firstOf(paths []string) string {
	if more := len(paths) - maxFieldsNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(paths[:maxFieldsNamed], ", "), more)
	}
	return strings.Join(paths, ", ")
}
