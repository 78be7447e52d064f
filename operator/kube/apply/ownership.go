package apply

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
)

const (
	// deletionRecheck is the longest time to wait for the event of a deletion in progress.
	deletionRecheck = 5 * time.Second

	// rejectionRecheck is the time between attempts to apply or delete an object where the API server rejects that. The cause may be a
	// policy or a quota, whose changes are not watched.
	rejectionRecheck = time.Minute
)

// find returns the object that reference names if it may be changed for owner, nil if there is none. Normally it reads
// the cache only. It asks the API server if the owner reference is missing and, unless the plan is new, if the kind is unwatched or the
// cache does not have the object, which may be there without the operator's label. wanted is the configuration to apply.
func (a *Applier) find(
	ctx context.Context, owner client.Object, isNew bool, reference owned.Reference, wanted *unstructured.Unstructured,
) (client.Object, error) {
	cached := false
	if a.watched(reference) {
		object, key := Empty(a.scheme, reference.GroupVersionKind), keyOf(reference)
		err := a.cached.Get(ctx, key, object)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("read %s %s from the cache: %w", reference.Kind, key, err)
		}
		if cached = err == nil; cached && metav1.IsControlledBy(object, owner) {
			return object, a.checkOwner(object, wanted, owner)
		}
	}
	if isNew && !cached {
		return nil, nil // Documented: there is no such object, or the write finds out.
	}
	return a.findLive(ctx, owner, reference, wanted)
}

// findLive is find without the cache.
func (a *Applier) findLive(
	ctx context.Context, owner client.Object, reference owned.Reference, wanted *unstructured.Unstructured,
) (client.Object, error) {
	object, key := Empty(a.scheme, reference.GroupVersionKind), keyOf(reference)
	if err := a.live.Get(ctx, key, object); apierrors.IsNotFound(err) {
		return nil, nil // Documented: there is no such object.
	} else if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", reference.Kind, key, err)
	}
	return object, a.checkOwner(object, wanted, owner)
}

// findUnexpected returns the object that is there although it was to be created. The error is Stale if it is gone again, and if it is a
// workload that the cache is about to show: the plan was made without it.
func (a *Applier) findUnexpected(
	ctx context.Context, owner client.Object, reference owned.Reference, recorded *owned.Recorded, wanted *unstructured.Unstructured,
) (client.Object, error) {
	found, err := a.findLive(ctx, owner, reference, wanted)
	if err == nil && (found == nil || recorded != nil && owned.ManagedSelector().Matches(labels.Set(found.GetLabels()))) {
		err = reconcileerror.Stale(fmt.Errorf("%s %s has just been created or deleted", reference.Kind, reference.Name))
	}
	return found, err
}

// checkVersion returns an error, which is Stale, if found was written after the plan was made from it. A plan that was made without an
// object cannot know one from which somebody has removed the labels that it has to have.
func checkVersion(plan owned.Plan, reference owned.Reference, wanted labels.Set, found client.Object) error {
	version, from := plan.ResourceVersions[reference]
	unlabelled := version == "" && !labels.SelectorFromSet(wanted).Matches(labels.Set(found.GetLabels()))
	if !from || version == found.GetResourceVersion() || unlabelled {
		return nil
	}
	return reconcileerror.Stale(fmt.Errorf("%s %s was written during the reconcile", reference.Kind, reference.Name))
}

func keyOf(reference owned.Reference) client.ObjectKey {
	return client.ObjectKey{Namespace: reference.Namespace, Name: reference.Name}
}

// checkOwner returns nil if object may be changed for owner, and otherwise an error that says why not.
func (a *Applier) checkOwner(object client.Object, wanted *unstructured.Unstructured, owner client.Object) error {
	ownerKind, err := apiutil.GVKForObject(owner, a.scheme)
	if err != nil {
		return fmt.Errorf("find the kind of the owner: %w", err)
	}
	controller, kind := metav1.GetControllerOf(object), wanted.GetKind()
	applied := owned.Applied(object, wanted.GetLabels()[owned.LabelName])
	switch {
	case controller != nil && isEarlier(controller, owner, ownerKind),
		!object.GetDeletionTimestamp().IsZero() && (metav1.IsControlledBy(object, owner) || applied):
		return reconcileerror.Waiting(v1alpha1.ReasonWaitingForDeletion, deletionRecheck, fmt.Errorf(
			"%s %s is still being deleted and will be created again afterwards", kind, object.GetName()))
	case controller != nil && controller.UID == owner.GetUID():
		return nil
	case controller == nil && applied:
		// The operator created it for an owner of this kind, and its owner reference was removed by hand or by
		// `kubectl delete --cascade=orphan`. Adopting it again keeps the items that are cached in its pods.
		return nil
	}
	return reconcileerror.Terminal(v1alpha1.ReasonNameConflict, fmt.Errorf(
		"%s %s already exists and does not belong to this %s, so it is not changed; delete or rename it, or rename the %s",
		kind, object.GetName(), ownerKind.Kind, ownerKind.Kind))
}

// isEarlier tells whether controller is a deleted owner of the same kind and name.
func isEarlier(controller *metav1.OwnerReference, owner client.Object, ownerKind schema.GroupVersionKind) bool {
	gv, err := schema.ParseGroupVersion(controller.APIVersion)
	return err == nil && gv.Group == ownerKind.Group && controller.Kind == ownerKind.Kind &&
		controller.Name == owner.GetName() && controller.UID != owner.GetUID()
}

// explain marks the error of a write with its class and reason. It returns nil for nil.
func explain(reference owned.Reference, err error) error { return explainAs("apply", reference, err) }

// explainAs is explain for another verb.
func explainAs(verb string, reference owned.Reference, err error) error {
	if err == nil {
		return nil
	}
	wrapped := fmt.Errorf("%s %s %s: %w", verb, reference.Kind, reference.Name, err)
	switch {
	case apierrors.IsConflict(err):
		return reconcileerror.Stale(wrapped)
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return reconcileerror.Waiting(v1alpha1.ReasonWaitingForDeletion, deletionRecheck, fmt.Errorf(
			"namespace %s is being deleted; no objects can be created in it", reference.Namespace))
	case reconcileerror.Refused(err):
		return reconcileerror.Waiting(v1alpha1.ReasonRejected, rejectionRecheck, wrapped)
	}
	return wrapped
}
