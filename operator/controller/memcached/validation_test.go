package memcached_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/testing/cluster"
)

func TestWrongManifestsAreRefusedWithAReadableMessage(t *testing.T) {
	t.Parallel()
	namespace := cluster.Namespace(t)
	for name, test := range map[string]struct {
		name string
		spec any
		says []string
	}{
		"a name that is too long":    {strings.Repeat("a", 53), size(1), []string{"at most 52 characters"}},
		"a name with a dot":          {"my.cache", size(1), []string{"lower-case letters, digits and '-'", "for example my-cache-1"}},
		"a name that starts with 1":  {"1cache", size(1), []string{"begins with a letter"}},
		"a negative size":            {"cache", size(-1), []string{"spec.size", "greater than or equal to 0"}},
		"a size that is no number":   {"cache", map[string]any{"size": "three"}, []string{"spec.size", "integer"}},
		"a size that is a fraction":  {"cache", map[string]any{"size": 1.5}, []string{"spec.size", "integer"}},
		"a size beyond 32 bits":      {"cache", size(1 << 31), []string{"spec.size", "int32"}},
		"no size":                    {"cache", map[string]any{}, []string{"spec.size", "Required value"}},
		"no spec":                    {"cache", nil, []string{"spec", "Required value"}},
		"a field that is misspelled": {"cache", map[string]any{"size": int64(1), "sise": int64(2)}, []string{"unknown field", "spec.sise"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := create(t, namespace, test.name, test.spec)
			if !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) {
				t.Fatalf("want it refused, got %v", err)
			}
			for _, part := range test.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the message lacks %q: %v", part, err)
				}
			}
		})
	}
}

func TestValidManifestsAreAccepted(t *testing.T) {
	t.Parallel()
	namespace := cluster.Namespace(t)
	for _, name := range []string{"a", "example-memcached", "a1", strings.Repeat("a", 52)} {
		if err := create(t, namespace, name, size(0)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func size(size int64) map[string]any { return map[string]any{"size": size} }

// create sends what a user might have written, which Go's types would not let us write.
func create(t *testing.T, namespace, name string, spec any) error {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cache.example.com/v1alpha1",
		"kind":       "Memcached",
		"metadata":   map[string]any{"namespace": namespace, "name": name},
	}}
	if spec != nil {
		object.Object["spec"] = spec
	}
	return cluster.Client.Create(t.Context(), object, strict)
}

// strict is what kubectl asks for.
const strict = client.FieldValidation("Strict")
