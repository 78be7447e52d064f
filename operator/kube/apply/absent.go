package apply

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
)

// absent deletes the object that reference names if it belongs to owner. It ignores other objects of that name.
func (a *Applier) absent(ctx context.Context, owner client.Object, plan owned.Plan, reference owned.Reference, result *Result) error {
	object := Empty(a.scheme, reference.GroupVersionKind)
	key := client.ObjectKey{Namespace: reference.Namespace, Name: reference.Name}
	if err := a.cached.Get(ctx, key, object); err != nil {
		if apierrors.IsNotFound(err) || a.kindIsGone(reference, err) {
			return nil
		}
		return fmt.Errorf("read %s %s: %w", reference.Kind, key, err)
	}
	if !metav1.IsControlledBy(object, owner) || !object.GetDeletionTimestamp().IsZero() {
		return nil
	}
	if err := checkVersion(plan, reference, nil, object); err != nil {
		return err
	}
	if err := a.confirm(ctx, owner); err != nil {
		return err
	}
	// The preconditions make sure that neither a new object of the same name nor a changed version is deleted.
	err := a.writer.Delete(ctx, object, client.Preconditions{
		UID:             ptr.To(object.GetUID()),
		ResourceVersion: ptr.To(object.GetResourceVersion()),
	}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return reconcileerror.Stale(fmt.Errorf("delete %s %s: %w", reference.Kind, key, err))
	case err != nil:
		return explainAs("delete", reference, err)
	}
	result.Changes = append(result.Changes, Change{Action: Deleted, Object: reference})
	return nil
}
