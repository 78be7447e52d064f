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

// hashPath is the field path of HashAnnotation.
const hashPath = "metadata.annotations." + HashAnnotation

// encode returns a configuration as decode does.
func encode(configuration owned.Configuration, recorded bool) (*unstructured.Unstructured, error) {
	raw, err := json.Marshal(configuration)
	if err != nil {
		return nil, fmt.Errorf("encode an apply configuration: %w", err)
	}
	return decode(raw, recorded)
}

// decode returns an encoded configuration as it is sent to the API server, with its hash in an annotation. The hash of a recorded workload
// does not depend on the number of pods, which is changed through the subresource scale.
func decode(raw []byte, recorded bool) (*unstructured.Unstructured, error) {
	wanted := &unstructured.Unstructured{}
	// Unlike encoding/json, utiljson decodes integers as int64.
	err := utiljson.Unmarshal(raw, &wanted.Object)
	if err != nil {
		return nil, fmt.Errorf("decode an apply configuration: %w", err)
	}
	if recorded {
		unsized := wanted.DeepCopy()
		unstructured.RemoveNestedField(unsized.Object, "spec", "replicas")
		if raw, err = json.Marshal(unsized.Object); err != nil {
			return nil, fmt.Errorf("encode an apply configuration: %w", err)
		}
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

// difference returns the change that makes found match wanted, nil if it already does. Fields of found that are not in
// wanted are ignored.
func (a *Applier) difference(reference owned.Reference, wanted *unstructured.Unstructured, found client.Object) (*Change, error) {
	comparison, _, err := a.compare(wanted, found)
	if err != nil {
		return nil, err
	}
	differing := comparison.Added.Union(comparison.Modified)
	if differing.Empty() {
		return nil, nil // Documented: there is no difference.
	}
	change := &Change{Action: Updated, Object: reference, Fields: paths(differing)}
	if len(change.Fields) > 1 {
		// The hash differs together with other fields and is of no interest to the reader.
		change.Fields = slices.DeleteFunc(change.Fields, func(path string) bool { return path == hashPath })
	}
	last := found.GetAnnotations()[HashAnnotation]
	if last == "" || last == wanted.GetAnnotations()[HashAnnotation] {
		change.Action = Repaired
	}
	return change, nil
}

// compare compares both objects. right is wanted in the form that was compared.
func (a *Applier) compare(
	wanted *unstructured.Unstructured, found client.Object,
) (comparison *typed.Comparison, right *typed.TypedValue, err error) {
	found.GetObjectKind().SetGroupVersionKind(wanted.GroupVersionKind())
	converter := a.converter
	if !a.scheme.Recognizes(wanted.GroupVersionKind()) {
		converter = a.deduced
	}
	// Other clients may have created duplicate keys in a list; that is not an error.
	left, err := converter.ObjectToTyped(found, typed.AllowDuplicates)
	if err == nil {
		right, err = converter.ObjectToTyped(wanted)
	}
	if err == nil {
		comparison, err = left.Compare(right)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("compare %s %s: %w", wanted.GetKind(), wanted.GetName(), err)
	}
	return comparison, right, nil
}

// paths returns the leaves of the set in the form "spec.replicas", sorted.
func paths(set *fieldpath.Set) []string {
	var paths []string
	set.Leaves().Iterate(func(path fieldpath.Path) {
		paths = append(paths, strings.TrimPrefix(path.String(), "."))
	})
	slices.Sort(paths)
	return paths
}
