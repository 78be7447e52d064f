package apply

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/outcome"
	"github.com/example/memcached-operator/operator/scope"
)

// absent deletes the object that reference names if it belongs to owner. Anything else of that name is none of our
// business, and so is what the cache does not know.
func (a *Applier) absent(ctx context.Context, owner client.Object, reference scope.Reference, result *Result) error {
	object, err := a.metadataOf(reference)
	if err != nil {
		return err
	}
	key := client.ObjectKey{Namespace: reference.Namespace, Name: reference.Name}
	if err := a.cached.Get(ctx, key, object); err != nil {
		if apierrors.IsNotFound(err) || a.kindIsGone(reference, err) {
			return nil
		}
		return fmt.Errorf("read %s %s from the cache: %w", reference.Kind, key, err)
	}
	if !metav1.IsControlledBy(object, owner) || !object.GetDeletionTimestamp().IsZero() {
		return nil
	}
	if err := a.confirm(ctx, owner); err != nil {
		return err
	}
	// Delete exactly what was looked at: not its successor of the same name, nor a version somebody has just changed.
	err = a.writer.Delete(ctx, object, client.Preconditions{
		UID:             ptr.To(object.GetUID()),
		ResourceVersion: ptr.To(object.GetResourceVersion()),
	}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsConflict(err):
		return outcome.Stale(fmt.Errorf("delete %s %s: %w", reference.Kind, key, err))
	case err != nil:
		return fmt.Errorf("delete %s %s: %w", reference.Kind, key, err)
	}
	result.Changes = append(result.Changes, Change{Action: Deleted, Object: reference})
	return nil
}

// metadataOf returns an empty object that metadata can be read into from the caches. Of a kind that is not in the scheme,
// they hold nothing else.
func (a *Applier) metadataOf(reference scope.Reference) (client.Object, error) {
	if a.scheme.Recognizes(reference.GroupVersionKind) {
		return a.empty(reference)
	}
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(reference.GroupVersionKind)
	return object, nil
}
