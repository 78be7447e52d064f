// Package report reports the result of a reconcile: in the object's status, in the log and in events.
package report

import (
	"context"
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	appv1alpha1 "github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/apply"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
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

// Object is a custom resource of the operator.
type Object interface {
	client.Object

	// GetConditions returns the conditions of the status.
	GetConditions() []metav1.Condition
}

// Reporter reports on objects of any kind.
type Reporter struct {
	// Client writes statuses.
	Client client.Client

	// Recorder emits events.
	Recorder record.EventRecorder

	// superseded maps kind and name to the resourceVersion that the last status was computed from.
	superseded sync.Map
}

// IsStale tells whether a copy of an object is older than the last status that was written. A reconcile of it would
// write the same status again. Another reconcile follows when the operator's cache has seen the write.
func (r *Reporter) IsStale(object Object) bool {
	version, found := r.superseded.Load(keyOf(object, client.ObjectKeyFromObject(object)))
	return found && version == object.GetResourceVersion()
}

// Forget removes what is stored about a deleted object. Only the kind of object is used.
func (r *Reporter) Forget(object Object, name types.NamespacedName) {
	r.superseded.Delete(keyOf(object, name))
}

func keyOf(object Object, name types.NamespacedName) string {
	return fmt.Sprintf("%T %s", object, name)
}

// Actions is what a reconcile did.
type Actions struct {
	// Changes are the writes to owned objects.
	Changes []apply.Change

	// Step is what was done to a running pod and why, empty if nothing was done.
	Step string
}

// Announce reports the actions of a reconcile in the log and in events. Call it before the status is written and even
// if the reconcile fails: a repeated reconcile has nothing left to do and would not report them.
func (r *Reporter) Announce(ctx context.Context, object Object, happened Actions) {
	r.announceChanges(ctx, object, happened.Changes)
	if happened.Step != "" {
		log.FromContext(ctx).Info(happened.Step)
		r.Recorder.Event(object, corev1.EventTypeNormal, v1alpha1.EventNodeUpdating, happened.Step)
	}
}

// Report writes the status of after, which is before with a new status, and then reports a new reason of the condition
// Ready. In this order, a repeated reconcile does not report it twice.
func (r *Reporter) Report(ctx context.Context, before, after Object) error {
	if err := r.write(ctx, before, after); err != nil {
		return err
	}
	r.announceReady(ctx, before, after)
	return nil
}

// write writes the status if it has changed. It sends a patch, so that fields of a newer version of the operator are
// kept, with the resourceVersion, so that the API server rejects a status computed from an outdated copy.
func (r *Reporter) write(ctx context.Context, before, after Object) error {
	if equality.Semantic.DeepEqual(before, after) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	// The patch overwrites its argument with the API server's answer, and after is still needed.
	err := r.Client.Status().Patch(ctx, after.DeepCopyObject().(client.Object), patch, client.FieldOwner(owned.Manager))
	switch {
	case apierrors.IsNotFound(err):
		return nil // The object was deleted in the meantime.
	case apierrors.IsConflict(err):
		return reconcileerror.Stale(fmt.Errorf("write the status: %w", err))
	case err != nil:
		return fmt.Errorf("write the status: %w", err)
	}
	r.superseded.Store(keyOf(before, client.ObjectKeyFromObject(before)), before.GetResourceVersion())
	return nil
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

// firstOf returns the first paths and the number of the others.
func firstOf(paths []string) string {
	if more := len(paths) - maxFieldsNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(paths[:maxFieldsNamed], ", "), more)
	}
	return strings.Join(paths, ", ")
}
