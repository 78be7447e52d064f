package apply

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
)

// present makes one object match the configuration.
func (a *Applier) present(
	ctx context.Context, owner client.Object, plan owned.Plan, configuration owned.Configuration, result *Result,
) error {
	reference := owned.ReferenceTo(configuration)
	recorded := recordedIn(plan, reference)
	wanted, err := encode(configuration, recorded != nil)
	if err != nil {
		return err
	}
	if Unwatched(reference) {
		if result.Recheck = a.knownFor(reference, wanted); result.Recheck > 0 {
			return nil
		}
		result.Recheck = a.recheck
	}
	found, change, err := a.compared(ctx, owner, reference, recorded, wanted)
	if err == nil && change != nil {
		err = a.change(ctx, owner, plan, configuration, wanted, found, *change, result)
	}
	if err == nil {
		a.noteApplied(reference, wanted)
	}
	return err
}

// compared returns the object that is there, nil if there is none, and the change that makes it match the configuration, nil if nothing
// is to be written.
func (a *Applier) compared(
	ctx context.Context, owner client.Object, reference owned.Reference, recorded *owned.Recorded, wanted *unstructured.Unstructured,
) (client.Object, *Change, error) {
	found, err := a.find(ctx, owner, reference, wanted)
	if a.kindIsGone(reference, err) {
		return nil, nil, nil
	}
	if err != nil || found == nil {
		return nil, &Change{Action: Created, Object: reference}, err
	}
	change, err := a.changeOf(reference, recorded, wanted, found)
	return found, change, err
}

// change writes a configuration over found, if that may be done.
func (a *Applier) change(
	ctx context.Context, owner client.Object, plan owned.Plan, configuration owned.Configuration,
	wanted *unstructured.Unstructured, found client.Object, wish Change, result *Result,
) error {
	reference := wish.Object
	if err := checkRendering(plan, configuration, wanted, found); err != nil {
		return reconcileerror.Join(err, a.scaleOnly(ctx, owner, wanted, found, wish, result))
	}
	found, change, err := a.prepare(ctx, owner, recordedIn(plan, reference), wanted, found, &wish, result)
	if err != nil || change == nil {
		return err
	}
	if err := nameRendering(plan, wanted, found, change); err != nil {
		return err
	}
	if err := a.write(ctx, wanted, found); err != nil {
		if a.kindIsGone(reference, err) {
			return nil
		}
		if found == nil || !apierrors.IsInvalid(err) {
			return explain(reference, err)
		}
		if err := a.writeOverRivals(ctx, wanted, reference, err); err != nil {
			return err
		}
	}
	result.Changes = append(result.Changes, *change)
	result.Objects = append(result.Objects, wanted)
	return nil
}

// changeOf returns the change to write over found, nil if there is nothing to write.
func (a *Applier) changeOf(
	reference owned.Reference, recorded *owned.Recorded, wanted *unstructured.Unstructured, found client.Object,
) (*Change, error) {
	if recorded != nil && recordOf(wanted) == "" && recorded.Record != "" && recordOf(found) == recorded.Record {
		nameRecord(wanted, recorded.Record) // It was named in an earlier write, and stays so.
	}
	change, err := a.difference(reference, wanted, found)
	if err != nil || change == nil || a.knowsRewrite(wanted, found) {
		return nil, err
	}
	if recorded != nil {
		change = worthWriting(change, *recorded, wanted, found)
	}
	return change, nil
}

// prepare makes sure that a change may be written. It returns the object to write over and the change that is left, nil if nothing is
// left or the write has to wait.
func (a *Applier) prepare(
	ctx context.Context, owner client.Object, recorded *owned.Recorded,
	wanted *unstructured.Unstructured, found client.Object, change *Change, result *Result,
) (client.Object, *Change, error) {
	if change.Action == Repaired && recorded == nil {
		if rewritten, err := a.isRewritten(ctx, wanted, found); err != nil || rewritten {
			return found, nil, explain(change.Object, err)
		}
	}
	if err := a.confirm(ctx, owner); err != nil {
		return found, nil, err
	}
	if found == nil || recorded == nil {
		return found, change, nil
	}
	return a.prepareWorkload(ctx, *recorded, wanted, found, change, result)
}

// write sends the apply; wanted then contains the object that the API server returned. found is the object that the
// decision is based on, nil if there was none.
func (a *Applier) write(ctx context.Context, wanted *unstructured.Unstructured, found client.Object, options ...client.ApplyOption) error {
	options = append(options, client.FieldOwner(owned.Manager))
	if found != nil {
		// The object belongs to the owner, so conflicts are forced. The uid prevents that the apply creates a new
		// object, and the resourceVersion that it overwrites a version that was not compared.
		options = append(options, client.ForceOwnership)
		wanted.SetUID(found.GetUID())
		wanted.SetResourceVersion(found.GetResourceVersion())
	}
	// Without force, the apply conflicts with an object that another client has created since the read.
	return a.writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), options...)
}

// confirm checks that the owner has not changed since the caller read it.
func (a *Applier) confirm(ctx context.Context, owner client.Object) error {
	gvk, err := apiutil.GVKForObject(owner, a.scheme)
	if err != nil {
		return fmt.Errorf("find the kind of the owner: %w", err)
	}
	return Confirm(ctx, a.live, owner, gvk)
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
