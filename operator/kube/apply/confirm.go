package apply

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
)

// maxConfirmed is how many owners are remembered as confirmed. One that is forgotten costs one more read.
const maxConfirmed = 1 << 14

// confirmFor checks that the owner has not changed since the caller read it, if the write needs that: always if it is told to, and
// otherwise until this process has done so once, or has created the owner's workload. The copy of the owner in the cache only becomes
// newer, so from then on it is at least as new as what an earlier leader acted on.
func (a *Applier) confirmFor(ctx context.Context, owner client.Object, always bool) error {
	if !always && a.isConfirmed(owner) {
		return nil
	}
	return a.confirm(ctx, owner)
}

func (a *Applier) isConfirmed(owner client.Object) bool {
	_, known := a.confirmed.Get(owner.GetUID())
	return known
}

// confirm checks that the owner has not changed since the caller read it.
func (a *Applier) confirm(ctx context.Context, owner client.Object) error {
	gvk, err := apiutil.GVKForObject(owner, a.scheme)
	if err != nil {
		return fmt.Errorf("find the kind of the owner: %w", err)
	}
	if err := Confirm(ctx, a.live, owner, gvk); err != nil {
		return err
	}
	a.confirmed.Add(owner.GetUID(), nil)
	return nil
}

func isWorkload(reference owned.Reference) bool {
	return reference.Kind == "Deployment" || reference.Kind == "StatefulSet"
}

// disturbsPods reports whether a change of an object can end pods: it gives a workload another template, or a smaller size.
func disturbsPods(change Change, wanted *unstructured.Unstructured, found client.Object) bool {
	var size int32
	switch found := found.(type) {
	case *appsv1.Deployment:
		size = ptr.Deref(found.Spec.Replicas, 1)
	case *appsv1.StatefulSet:
		size = ptr.Deref(found.Spec.Replicas, 1)
	default:
		return false
	}
	larger, _, err := unstructured.NestedInt64(wanted.Object, "spec", "replicas")
	return err != nil || !slices.Equal(change.Fields, []string{replicasPath}) || larger < int64(size)
}

// Confirm checks that the spec of an object of the given kind has not changed since the caller read it. If it has, the error is
// Stale.
func Confirm(ctx context.Context, live client.Reader, object client.Object, gvk schema.GroupVersionKind) error {
	name := gvk.Kind + " " + client.ObjectKeyFromObject(object).String()
	now := &metav1.PartialObjectMetadata{}
	now.SetGroupVersionKind(gvk)
	err := live.Get(ctx, client.ObjectKeyFromObject(object), now)
	switch {
	case apierrors.IsNotFound(err):
		return reconcileerror.Stale(fmt.Errorf("%s was deleted during the reconcile", name))
	case err != nil:
		return fmt.Errorf("read %s: %w", name, err)
	case now.UID != object.GetUID() || now.Generation != object.GetGeneration() || !now.DeletionTimestamp.IsZero():
		return reconcileerror.Stale(fmt.Errorf("%s changed during the reconcile", name))
	}
	return nil
}
