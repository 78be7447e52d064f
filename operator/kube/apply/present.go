package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
)

// noVersion is a resourceVersion that no object has. An apply with it creates an object, and conflicts with one that is there: the API
// server compares versions only if there is an object (k8s.io/apiserver, Store.Update in pkg/registry/generic/registry, the same in 1.32
// and 1.36). Without it, an apply would merge with an object of somebody else that has no field in conflict.
const noVersion = "1"

// errExists means that an object was to be created, and there is one.
var errExists = errors.New("the object exists")

// present makes one object match the configuration.
func (a *Applier) present(
	ctx context.Context, owner client.Object, plan owned.Plan, configuration owned.Configuration, result *Result,
) error {
	reference := owned.ReferenceTo(configuration)
	encoded, err := json.Marshal(configuration)
	if err != nil {
		return fmt.Errorf("encode an apply configuration: %w", err)
	}
	if !plan.New && a.stillMatches(ctx, owner, reference, encoded) {
		return nil
	}
	recorded := recordedIn(plan, reference)
	wanted, err := decode(encoded, recorded != nil)
	if err != nil {
		return err
	}
	if Unwatched(reference) {
		if result.Recheck = a.knownFor(reference, wanted); result.Recheck > 0 {
			return nil
		}
		result.Recheck = a.recheck
	}
	found, err := a.find(ctx, owner, plan.New, reference, wanted)
	if err == nil {
		err = a.match(ctx, owner, plan, configuration, encoded, wanted, found, result)
	}
	if errors.Is(err, errExists) {
		if found, err = a.findUnexpected(ctx, owner, reference, recorded, wanted); err == nil {
			err = a.match(ctx, owner, plan, configuration, encoded, wanted, found, result)
		}
	}
	if a.kindIsGone(reference, err) {
		return nil
	}
	if err == nil {
		a.noteApplied(reference, wanted)
	}
	return err
}

// stillMatches reports whether the cache has the object as it was when it was last compared with the same configuration, which it matched.
func (a *Applier) stillMatches(ctx context.Context, owner client.Object, reference owned.Reference, encoded []byte) bool {
	if !a.watched(reference) {
		return false
	}
	object := Empty(a.scheme, reference.GroupVersionKind)
	return a.cached.Get(ctx, keyOf(reference), object) == nil && object.GetDeletionTimestamp().IsZero() &&
		metav1.IsControlledBy(object, owner) && a.matches.include(reference, a.matches.fingerprint(encoded, object))
}

// match makes found, nil for no object, match the configuration. The error is errExists if there is an object although found is nil.
func (a *Applier) match(
	ctx context.Context, owner client.Object, plan owned.Plan, configuration owned.Configuration, encoded []byte,
	wanted *unstructured.Unstructured, found client.Object, result *Result,
) error {
	reference := owned.ReferenceTo(configuration)
	change := &Change{Action: Created, Object: reference}
	if found != nil {
		var err error
		if change, err = a.changeOf(reference, recordedIn(plan, reference), encoded, wanted, found); err != nil || change == nil {
			return err
		}
		if err := checkVersion(plan, reference, wanted.GetLabels(), found); err != nil {
			return err
		}
	}
	return a.change(ctx, owner, plan, configuration, wanted, found, *change, result)
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
	found, change, err := a.prepare(ctx, owner, plan, wanted, found, &wish, result)
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
		if found == nil && (apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)) {
			wanted.SetResourceVersion("") // It is to be compared again.
			return errExists
		}
		if found == nil || !apierrors.IsInvalid(err) {
			return explain(reference, err)
		}
		if err := a.writeOverRivals(ctx, wanted, reference, err); err != nil {
			return err
		}
	}
	if found == nil && isWorkload(reference) {
		a.confirmed.Add(owner.GetUID(), nil)
	}
	result.Changes = append(result.Changes, *change)
	result.Objects = append(result.Objects, wanted)
	return nil
}

// changeOf returns the change to write over found, nil if there is nothing to write.
func (a *Applier) changeOf(
	reference owned.Reference, recorded *owned.Recorded, encoded []byte, wanted *unstructured.Unstructured, found client.Object,
) (*Change, error) {
	if recorded != nil && recorded.Named != nil && *recorded.Named != recordOf(found) {
		return nil, reconcileerror.Stale(fmt.Errorf("%s %s was given another pod template during the reconcile", reference.Kind, reference.Name))
	}
	if recorded != nil && recordOf(wanted) == "" && recorded.Record != "" && recordOf(found) == recorded.Record {
		nameRecord(wanted, recorded.Record) // It was named in an earlier write, and stays so.
	}
	change, err := a.difference(reference, wanted, found)
	if err == nil && change == nil {
		a.matches.remember(reference, a.matches.fingerprint(encoded, found))
	}
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
	ctx context.Context, owner client.Object, plan owned.Plan,
	wanted *unstructured.Unstructured, found client.Object, change *Change, result *Result,
) (client.Object, *Change, error) {
	recorded := recordedIn(plan, change.Object)
	if change.Action == Repaired && recorded == nil {
		if rewritten, err := a.isRewritten(ctx, wanted, found); err != nil || rewritten {
			return found, nil, explain(change.Object, err)
		}
	}
	if found == nil && plan.New {
		return nil, change, nil
	}
	if err := a.confirmFor(ctx, owner, found == nil || disturbsPods(*change, wanted, found)); err != nil {
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
	if found == nil {
		wanted.SetResourceVersion(noVersion)
	} else {
		// The object belongs to the owner, so conflicts are forced. The uid prevents that the apply creates a new
		// object, and the resourceVersion that it overwrites a version that was not compared.
		options = append(options, client.ForceOwnership)
		wanted.SetUID(found.GetUID())
		wanted.SetResourceVersion(found.GetResourceVersion())
	}
	return a.writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), options...)
}
