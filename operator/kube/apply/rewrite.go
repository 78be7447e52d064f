package apply

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/kube/owned"
)

// isRewritten reports whether a write would leave an object as it is. See noteRewrite.
func (a *Applier) isRewritten(ctx context.Context, wanted *unstructured.Unstructured, found client.Object) (bool, error) {
	answer, err := a.dryRun(ctx, wanted, found)
	if err != nil || answer == nil {
		return false, err
	}
	return a.noteRewrite(wanted, found, answer, false)
}

// noteRewrite reports whether an object would stay as it is after a write, because an admission policy or webhook changes it whenever it
// is written. That is remembered, so the API server is asked again only when the object or the configuration has changed.
func (a *Applier) noteRewrite(wanted *unstructured.Unstructured, found, answer client.Object, recorded bool) (bool, error) {
	before, errBefore := content(found)
	after, errAfter := content(answer)
	if err := errors.Join(errBefore, errAfter); err != nil {
		return false, fmt.Errorf("compare %s %s: %w", wanted.GetKind(), wanted.GetName(), err)
	}
	// Of the annotations, only those count that the configuration sets; the hash of a recorded workload is bookkeeping.
	for _, object := range []*unstructured.Unstructured{before, after} {
		annotations := object.GetAnnotations()
		maps.DeleteFunc(annotations, func(key, _ string) bool {
			_, set := wanted.GetAnnotations()[key]
			return !set || recorded && key == HashAnnotation
		})
		object.SetAnnotations(annotations)
	}
	comparison, _, err := a.compare(after, before)
	if err != nil || !comparison.IsSame() {
		return false, err
	}
	key, err := rewriteOf(wanted, found)
	a.rewritten.Store(found.GetUID(), key)
	return err == nil, err
}

// typed returns an object in its Go type, if it has one.
func (a *Applier) typed(object *unstructured.Unstructured) (client.Object, error) {
	typed := Empty(a.scheme, object.GroupVersionKind())
	if _, untyped := typed.(*unstructured.Unstructured); untyped {
		return object, nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed); err != nil {
		return nil, fmt.Errorf("decode the %s that the API server returned: %w", object.GetKind(), err)
	}
	return typed, nil
}

// knowsRewrite reports whether a write is known to leave the object as it is.
func (a *Applier) knowsRewrite(wanted *unstructured.Unstructured, found client.Object) bool {
	known, _ := a.rewritten.Load(found.GetUID())
	if known == nil {
		return false
	}
	key, err := rewriteOf(wanted, found)
	return err == nil && known == key
}

// rewriteOf identifies a configuration together with what it was compared with. The annotations of others do not count: Kubernetes'
// controllers write some.
func rewriteOf(wanted *unstructured.Unstructured, found client.Object) (string, error) {
	compared, err := content(found)
	if err != nil {
		return "", err
	}
	compared.SetAnnotations(map[string]string{owned.RecordAnnotation: recordOf(found), HashAnnotation: found.GetAnnotations()[HashAnnotation]})
	raw, err := json.Marshal([]any{wanted.Object, compared.Object})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), nil
}

// content returns the part of an object that an apply can change.
func content(object client.Object) (*unstructured.Unstructured, error) {
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	result := (&unstructured.Unstructured{Object: raw}).DeepCopy()
	unstructured.RemoveNestedField(result.Object, "status")
	for _, field := range []string{"managedFields", "resourceVersion", "generation", "creationTimestamp", "uid"} {
		unstructured.RemoveNestedField(result.Object, "metadata", field)
	}
	return result, nil
}
