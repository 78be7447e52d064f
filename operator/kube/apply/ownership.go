package apply

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
)

const (
	// deletionRecheck bounds how long we wait for the event of a deletion that was seen under way.
	deletionRecheck = 5 * time.Second

	// rejectionRecheck is how often an object that the API server rejects is tried again: a policy or a quota may have
	// been changed, which nothing tells us.
	rejectionRecheck = time.Minute
)

// find returns the object that reference names if it is ours to change, and nil if there is none. In the steady state it
// reads the cache only. The API server is asked when the cache knows no such object, which may mean that it lacks our
// label, or when its owner reference is missing.
func (a *Applier) find(ctx context.Context, owner client.Object, reference owned.Reference) (client.Object, error) {
	object, err := a.empty(reference)
	if err != nil {
		return nil, err
	}
	key := client.ObjectKey{Namespace: reference.Namespace, Name: reference.Name}
	err = a.cached.Get(ctx, key, object)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read %s %s from the cache: %w", reference.Kind, key, err)
	}
	if err != nil || !metav1.IsControlledBy(object, owner) {
		if object, err = a.empty(reference); err != nil {
			return nil, err
		}
		if err := a.live.Get(ctx, key, object); apierrors.IsNotFound(err) {
			return nil, nil // No object is an answer, and documented.
		} else if err != nil {
			return nil, fmt.Errorf("read %s %s: %w", reference.Kind, key, err)
		}
	}
	gvk, err := apiutil.GVKForObject(owner, a.scheme)
	if err != nil {
		return nil, fmt.Errorf("find the kind of the owner: %w", err)
	}
	return object, judge(object, reference.Kind, owner, gvk)
}

// judge returns nil when object is ours to change, and otherwise an error that says whose it is.
func judge(object client.Object, kind string, owner client.Object, ownerKind schema.GroupVersionKind) error {
	controller := metav1.GetControllerOf(object)
	switch {
	case controller != nil && isEarlier(controller, owner, ownerKind),
		!object.GetDeletionTimestamp().IsZero() && (metav1.IsControlledBy(object, owner) || owned.Applied(object)):
		return reconcileerror.Waiting(v1alpha1.ReasonWaitingForDeletion, deletionRecheck, fmt.Errorf(
			"%s %s is still being deleted; it is created anew when it is gone", kind, object.GetName()))
	case controller != nil && controller.UID == owner.GetUID():
		return nil
	case controller == nil && owned.Applied(object):
		// Its owner reference was taken away, by hand or by `kubectl delete --cascade=orphan`. We made it, so we take
		// it back, and with it the items that are cached in its pods.
		return nil
	}
	return reconcileerror.Terminal(v1alpha1.ReasonNameConflict, fmt.Errorf(
		"%s %s exists already and was not made for this %s, so it is left alone; delete or rename it, or give the %s another name",
		kind, object.GetName(), ownerKind.Kind, ownerKind.Kind))
}

// isEarlier tells whether controller is an earlier owner of the same kind and name, deleted since.
func isEarlier(controller *metav1.OwnerReference, owner client.Object, ownerKind schema.GroupVersionKind) bool {
	gv, err := schema.ParseGroupVersion(controller.APIVersion)
	return err == nil && gv.Group == ownerKind.Group && controller.Kind == ownerKind.Kind &&
		controller.Name == owner.GetName() && controller.UID != owner.GetUID()
}

// explain marks an error of a write with what it means.
func explain(reference owned.Reference, err error) error {
	wrapped := fmt.Errorf("apply %s %s: %w", reference.Kind, reference.Name, err)
	switch {
	case apierrors.IsConflict(err):
		return reconcileerror.Stale(wrapped)
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return reconcileerror.Waiting(v1alpha1.ReasonWaitingForDeletion, deletionRecheck, fmt.Errorf(
			"namespace %s is being deleted, so nothing is created in it", reference.Namespace))
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return reconcileerror.Waiting(v1alpha1.ReasonRejected, rejectionRecheck, wrapped)
	}
	return wrapped
}
