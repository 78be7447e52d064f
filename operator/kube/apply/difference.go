package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/example/memcached-operator/operator/kube/owned"
)

// HashAnnotation holds a hash of the configuration that was last applied to an object.
const HashAnnotation = "cache.example.com/applied-hash"

// hashPath is where HashAnnotation stands in an object.
const hashPath = "metadata.annotations." + HashAnnotation

// encode returns the configuration as it goes to the API server, with its hash in an annotation.
func encode(configuration owned.Configuration) (*unstructured.Unstructured, error) {
	raw, err := json.Marshal(configuration)
	if err != nil {
		return nil, fmt.Errorf("encode an apply configuration: %w", err)
	}
	wanted := &unstructured.Unstructured{}
	// Unlike encoding/json, this keeps integers integers.
	if err := utiljson.Unmarshal(raw, &wanted.Object); err != nil {
		return nil, fmt.Errorf("encode an apply configuration: %w", err)
	}
	sum := sha256.Sum256(raw)
	annotations := wanted.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[HashAnnotation] = hex.EncodeToString(sum[:8])
	wanted.SetAnnotations(annotations)
	return wanted, nil
}

// difference returns the change that makes found what is wanted, nil when it is already. What found has beyond the
// wanted fields is not ours and does not count.
func (a *Applier) difference(wanted *unstructured.Unstructured, found client.Object) (*Change, error) {
	reference := referenceTo(wanted)
	left, right, err := a.typed(wanted, found)
	if err != nil {
		return nil, err
	}
	comparison, err := left.Compare(right)
	if err != nil {
		return nil, fmt.Errorf("compare %s %s: %w", reference.Kind, reference.Name, err)
	}
	differing := comparison.Added.Union(comparison.Modified)
	if differing.Empty() {
		return nil, nil // No change is an answer, and documented.
	}
	change := &Change{Action: Updated, Object: reference, Fields: paths(differing)}
	if len(change.Fields) > 1 {
		// The hash differs whenever something else does, so it tells the reader nothing.
		change.Fields = slices.DeleteFunc(change.Fields, func(path string) bool { return path == hashPath })
	}
	last := found.GetAnnotations()[HashAnnotation]
	if last == "" || last == wanted.GetAnnotations()[HashAnnotation] {
		change.Action = Repaired
	}
	return change, nil
}

// typed returns both objects in the form in which they can be compared.
func (a *Applier) typed(wanted *unstructured.Unstructured, found client.Object) (left, right *typed.TypedValue, err error) {
	found.GetObjectKind().SetGroupVersionKind(wanted.GroupVersionKind())
	converter := a.converter
	if !a.scheme.Recognizes(wanted.GroupVersionKind()) {
		converter = a.deduced
	}
	// Others may have put the same key into a list twice; that is theirs to do.
	if left, err = converter.ObjectToTyped(found, typed.AllowDuplicates); err == nil {
		right, err = converter.ObjectToTyped(wanted)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("compare %s %s: %w", wanted.GetKind(), wanted.GetName(), err)
	}
	return left, right, nil
}

// paths returns the set's leaves in the form "spec.replicas", sorted.
func paths(set *fieldpath.Set) []string {
	var paths []string
	set.Leaves().Iterate(func(path fieldpath.Path) {
		paths = append(paths, strings.TrimPrefix(path.String(), "."))
	})
	slices.Sort(paths)
	return paths
}
