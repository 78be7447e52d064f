package change_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/hack/bundle/compat/change"
	"github.com/example/memcached-operator/hack/project"
)

func definition(t *testing.T) *crd {
	t.Helper()
	content, err := os.ReadFile("../../../../" + project.BundleDir("0.1.0") + "/manifests/cache.example.com_memcacheds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var c crd
	if err := yaml.UnmarshalStrict(content, &c); err != nil {
		t.Fatal(err)
	}
	return &c
}

func cache(name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cache.example.com/v1alpha1", "kind": "Memcached",
		"metadata": map[string]any{"namespace": "default", "name": name}, "spec": spec,
	}}
}

// editSpec changes the schema of spec.
func editSpec(c *crd, change func(*apiextensionsv1.JSONSchemaProps)) {
	properties := c.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
	s := properties["spec"]
	change(&s)
	properties["spec"] = s
}

func TestReplayObjectsValidatesAsOLM(t *testing.T) {
	raise := func(c *crd) {
		editSpec(c, func(s *apiextensionsv1.JSONSchemaProps) {
			size := s.Properties["size"]
			size.Minimum = ptr.To(1.0)
			s.Properties["size"] = size
		})
	}
	withMode := func(byDefault bool) func(*crd) {
		return func(c *crd) {
			editSpec(c, func(s *apiextensionsv1.JSONSchemaProps) {
				mode := apiextensionsv1.JSONSchemaProps{Type: "string"}
				if byDefault {
					mode.Default = &apiextensionsv1.JSON{Raw: []byte(`"safe"`)}
				}
				s.Properties["mode"] = mode
				s.Required = append(s.Required, "mode")
			})
		}
	}
	for name, test := range map[string]struct {
		older, newer func(*crd)
		want         []string // Parts of the only error. None means that OLM continues.
	}{
		"nothing changed":                            {nil, nil, nil},
		"a value is refused":                         {nil, raise, []string{"v1alpha1", `"stopped"`, "spec.size", "too restrictive"}},
		"a field is required":                        {nil, withMode(false), []string{"spec.mode", "Required value"}},
		"a default does not apply to stored objects": {nil, withMode(true), []string{"spec.mode", "Required value"}},
		"the older default does apply":               {withMode(true), withMode(false), nil},
		"rules are not evaluated": {nil, func(c *crd) {
			c.Spec.Versions[0].Schema.OpenAPIV3Schema.XValidations[0].Rule = "size(self.metadata.name) > 99"
		}, nil},
		"not when the version is no longer served": {nil, func(c *crd) { raise(c); c.Spec.Versions[0].Served = false }, nil},
		"not when it was not served":               {func(c *crd) { c.Spec.Versions[0].Served = false }, raise, nil},
		"every version served by both": {addV1, func(c *crd) {
			addV1(c)
			delete(c.Spec.Versions[1].Schema.OpenAPIV3Schema.Properties, "spec")
			c.Spec.Versions[1].Schema.OpenAPIV3Schema.Properties["spec"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
		}, []string{" v1 ", "spec", "string"}},
	} {
		t.Run(name, func(t *testing.T) {
			older, newer := definition(t), definition(t)
			for c, change := range map[*crd]func(*crd){older: test.older, newer: test.newer} {
				if change != nil {
					change(c)
				}
			}
			errs := change.ReplayObjects(older, newer, []*unstructured.Unstructured{cache("stopped", map[string]any{"size": int64(0)})})
			if len(test.want) == 0 && len(errs) > 0 || len(test.want) > 0 && len(errs) != 1 {
				t.Fatalf("got %v", errs)
			}
			for _, part := range test.want {
				if !strings.Contains(errs[0].Error(), part) {
					t.Errorf("%q lacks %q", errs[0], part)
				}
			}
		})
	}
}

func addV1(c *crd) {
	v1 := *c.Spec.Versions[0].DeepCopy()
	v1.Name, v1.Storage = "v1", false
	c.Spec.Versions = append(c.Spec.Versions, v1)
}

func TestReplayStoredVersions(t *testing.T) {
	c := definition(t)
	if errs := change.ReplayStoredVersions(c, []string{"v1alpha1"}); len(errs) > 0 {
		t.Errorf("got %v", errs)
	}
	c.Spec.Versions[0].Served = false // OLM only checks that the version exists.
	if errs := change.ReplayStoredVersions(c, []string{"v1alpha1"}); len(errs) > 0 {
		t.Errorf("got %v", errs)
	}
	errs := change.ReplayStoredVersions(c, []string{"v1alpha0", "v1alpha1"})
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "v1alpha0") {
		t.Errorf("got %v", errs)
	}
}

func TestAdmit(t *testing.T) {
	size := func(n int64) map[string]any { return map[string]any{"size": n} }
	for name, test := range map[string]struct {
		object *unstructured.Unstructured
		want   string
	}{
		"a cache":               {cache("a", size(0)), ""},
		"the longest name":      {cache(strings.Repeat("a", 52), size(1)), ""},
		"a name that is longer": {cache(strings.Repeat("a", 53), size(1)), "at most 52 characters"},
		"a negative size":       {cache("a", size(-1)), "spec.size"},
		"a misspelled field":    {cache("a", map[string]any{"size": int64(1), "sise": int64(1)}), "unknown field spec.sise"},
		"another version":       {inVersion(cache("a", size(1)), "v9"), "v9 of memcacheds.cache.example.com is not served"},
	} {
		t.Run(name, func(t *testing.T) {
			err := change.Admit(t.Context(), definition(t), test.object)
			if got := fmt.Sprint(err); test.want == "" && err != nil || !strings.Contains(got, test.want) {
				t.Errorf("want %q, got %v", test.want, err)
			}
		})
	}
}

func TestAdmitWithoutRules(t *testing.T) {
	c := definition(t)
	c.Spec.Versions[0].Schema.OpenAPIV3Schema.XValidations = nil
	if err := change.Admit(t.Context(), c, cache("1.not-a-service-name", map[string]any{"size": int64(1)})); err != nil {
		t.Error(err)
	}
}

func inVersion(object *unstructured.Unstructured, version string) *unstructured.Unstructured {
	object.SetAPIVersion("cache.example.com/" + version)
	return object
}
