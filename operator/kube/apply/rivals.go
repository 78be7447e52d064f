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

// A server-side apply merges: fields that other clients have added stay. A field that another client has put in the place
// of a wanted one can make the merged object invalid. For example, an edit of a Service replaces the port 8080 by 9090;
// a Service with both ports is rejected because they have the same name. The functions below find such rival fields and
// transfer them to the operator's field manager, so that the next apply, which does not contain them, removes them.

// writeOverRivals writes an object again that the API server has rejected as invalid, without its rival fields. If there
// are none, it returns the rejection as a reconcile error.
func (a *Applier) writeOverRivals(
	ctx context.Context, wanted *unstructured.Unstructured, reference owned.Reference, rejection error,
) error {
	found := Empty(a.scheme, reference.GroupVersionKind)
	if err := a.live.Get(ctx, client.ObjectKey{Namespace: reference.Namespace, Name: reference.Name}, found); err != nil {
		return fmt.Errorf("read %s %s: %w", reference.Kind, reference.Name, err)
	}
	if found.GetUID() != wanted.GetUID() || found.GetResourceVersion() != wanted.GetResourceVersion() {
		return reconcileerror.Stale(fmt.Errorf("%s %s changed during the reconcile", reference.Kind, reference.Name))
	}
	disowned, err := a.disown(ctx, wanted, found)
	if err != nil {
		return explainAs("repair", reference, err)
	}
	if !disowned {
		return explain(reference, rejection)
	}
	if err := a.write(ctx, wanted, found); err != nil {
		return explain(reference, err)
	}
	return nil
}

// disown transfers the rival fields in found to the operator. It returns false if there are none, and then changes
// nothing. It writes managedFields only; found then contains the object that the API server returned.
func (a *Applier) disown(ctx context.Context, wanted *unstructured.Unstructured, found client.Object) (bool, error) {
	all, missing, err := a.wantedFields(wanted, found)
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

// wantedFields returns the fields of wanted, and those of them that found lacks.
func (a *Applier) wantedFields(wanted *unstructured.Unstructured, found client.Object) (all, missing *fieldpath.Set, err error) {
	comparison, right, err := a.compare(wanted, found)
	if err != nil {
		return nil, nil, err
	}
	if all, err = right.ToFieldSet(); err != nil {
		return nil, nil, fmt.Errorf("compare %s %s: %w", wanted.GetKind(), wanted.GetName(), err)
	}
	return all, comparison.Added, nil
}

// reassign moves the rival fields from the entries of other managers to the operator's apply entry.
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

// rivals returns the fields of theirs that are not wanted and are siblings of a missing wanted field: entries of the
// same list, or fields of the same structure. Metadata is excluded, because there keys of different managers exist side
// by side.
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
