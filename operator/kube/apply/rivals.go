package apply

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
)

// A server-side apply merges: what others have added to an object stays. But what others have put in the place of
// something of ours can be impossible together with it. Who edits the port of a Service replaces the entry 8080 of the
// list by an entry 9090, and a Service with both is refused, because both have the same name. The functions below
// find such rivals and make them ours, so that the next apply, which does not want them, removes them.

// writeOverRivals writes an object again that the API server has refused as invalid, without what may be the cause. If
// nothing may be, it returns what the refusal means.
func (a *Applier) writeOverRivals(
	ctx context.Context, wanted *unstructured.Unstructured, reference owned.Reference, refusal error,
) error {
	found, err := a.empty(reference)
	if err != nil {
		return err
	}
	if err := a.live.Get(ctx, client.ObjectKey{Namespace: reference.Namespace, Name: reference.Name}, found); err != nil {
		return fmt.Errorf("read %s %s: %w", reference.Kind, reference.Name, err)
	}
	if found.GetUID() != wanted.GetUID() || found.GetResourceVersion() != wanted.GetResourceVersion() {
		return reconcileerror.Stale(fmt.Errorf("%s %s has changed meanwhile", reference.Kind, reference.Name))
	}
	disowned, err := a.disown(ctx, wanted, found)
	if err != nil {
		return fmt.Errorf("repair %s %s: %w", reference.Kind, reference.Name, err)
	}
	if !disowned {
		return explain(reference, refusal)
	}
	if err := a.write(ctx, wanted, found); err != nil {
		return explain(reference, err)
	}
	return nil
}

// disown makes the rivals of wanted in found ours. It returns false when there are none, and nothing was changed.
// Nothing but managedFields is written; found then holds what the API server returned.
func (a *Applier) disown(ctx context.Context, wanted *unstructured.Unstructured, found client.Object) (bool, error) {
	all, missing, err := a.opinion(wanted, found)
	if err != nil {
		return false, err
	}
	entries, changed, err := reassign(found.GetManagedFields(), all, missing)
	if err != nil || !changed {
		return false, err
	}
	patch, err := json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/managedFields", "value": entries},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": found.GetResourceVersion()},
	})
	if err != nil {
		return false, fmt.Errorf("encode a patch: %w", err)
	}
	err = a.writer.Patch(ctx, found, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(owned.Manager))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return false, reconcileerror.Stale(err)
	}
	return err == nil, err
}

// opinion returns all fields that are wanted, and those of them that found does not have.
func (a *Applier) opinion(wanted *unstructured.Unstructured, found client.Object) (all, missing *fieldpath.Set, err error) {
	left, right, err := a.typed(wanted, found)
	if err != nil {
		return nil, nil, err
	}
	comparison, err := left.Compare(right)
	if err != nil {
		return nil, nil, fmt.Errorf("compare %s %s: %w", wanted.GetKind(), wanted.GetName(), err)
	}
	if all, err = right.ToFieldSet(); err != nil {
		return nil, nil, fmt.Errorf("compare %s %s: %w", wanted.GetKind(), wanted.GetName(), err)
	}
	return all, comparison.Added, nil
}

// reassign moves the rivals from the entries of others to the entry of our applies.
func reassign(entries []metav1.ManagedFieldsEntry, all, missing *fieldpath.Set) ([]metav1.ManagedFieldsEntry, bool, error) {
	taken := fieldpath.NewSet()
	var own *metav1.ManagedFieldsEntry
	var kept []metav1.ManagedFieldsEntry
	for _, entry := range entries {
		switch {
		case entry.Subresource != "" || entry.FieldsV1 == nil:
		case owned.IsApply(entry):
			own = entry.DeepCopy()
			continue
		default:
			theirs, err := decodeFields(entry.FieldsV1)
			if err != nil {
				return nil, false, err
			}
			lost := rivals(theirs, all, missing)
			taken = taken.Union(lost)
			if theirs = theirs.Difference(lost); theirs.Empty() {
				continue
			}
			if entry.FieldsV1, err = encodeFields(theirs); err != nil {
				return nil, false, err
			}
		}
		kept = append(kept, entry)
	}
	if own == nil || taken.Empty() {
		return nil, false, nil
	}
	ours, err := decodeFields(own.FieldsV1)
	if err != nil {
		return nil, false, err
	}
	if own.FieldsV1, err = encodeFields(ours.Union(taken)); err != nil {
		return nil, false, err
	}
	return append(kept, *own), true, nil
}

// rivals returns those of theirs that we have no opinion on, and that are siblings of something of ours that is missing:
// entries of the same list, or fields of the same structure. Metadata is left out: keys of different owners live there
// side by side.
func rivals(theirs, all, missing *fieldpath.Set) *fieldpath.Set {
	ours, parents, found := map[string]bool{}, map[string]bool{}, fieldpath.NewSet()
	all.Iterate(func(path fieldpath.Path) {
		for i := range path {
			ours[path[:i+1].String()] = true
		}
	})
	missing.Iterate(func(path fieldpath.Path) {
		if first := path[0].FieldName; first != nil && *first == "spec" {
			parents[path[:len(path)-1].String()] = true
		}
	})
	theirs.Iterate(func(path fieldpath.Path) {
		for i := 1; i < len(path); i++ {
			if parents[path[:i].String()] && !ours[path[:i+1].String()] {
				found.Insert(path.Copy())
				return
			}
		}
	})
	return found
}

func decodeFields(fields *metav1.FieldsV1) (*fieldpath.Set, error) {
	set := fieldpath.NewSet()
	if err := set.FromJSON(fields.GetRawReader()); err != nil {
		return nil, fmt.Errorf("decode managed fields: %w", err)
	}
	return set, nil
}

func encodeFields(set *fieldpath.Set) (*metav1.FieldsV1, error) {
	raw, err := set.ToJSON()
	if err != nil {
		return nil, fmt.Errorf("encode managed fields: %w", err)
	}
	return metav1.NewFieldsV1(string(raw)), nil
}
