package olmv1

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/memcached-operator/hack/cluster/internal/host"
)

func TestTheWebhookIsCalledBesideTheCluster(t *testing.T) {
	objects, err := Objects("testdata/module", []byte("certificate"))
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, object := range objects {
		kinds = append(kinds, object.GetKind())
	}
	want := []string{"Namespace", "CustomResourceDefinition", "CustomResourceDefinition", "MutatingWebhookConfiguration"}
	if !slices.Equal(kinds, want) {
		t.Fatalf("the objects are %v, want %v", kinds, want)
	}
	webhooks, _, _ := unstructured.NestedSlice(objects[3].Object, "webhooks")
	client := webhooks[0].(map[string]any)["clientConfig"].(map[string]any)
	if client["url"] != "https://localhost:18446/label" || client["caBundle"] != "Y2VydGlmaWNhdGU=" || client["service"] != nil {
		t.Errorf("the webhook is called at %v", client)
	}
}

func TestAModuleOfAnotherFormIsReported(t *testing.T) {
	if _, err := Objects(t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), "OLM v1") {
		t.Errorf("the error is %v", err)
	}
}

// Both programs pull from the local registry, and neither reads a file of the machine.
func TestProgramsHaveAHomeOfTheirOwn(t *testing.T) {
	layout := host.Layout{Cache: "/cache"}
	for _, spec := range []struct {
		environment, files []string
	}{
		{Catalogd(layout, "/bin").Env, Catalogd(layout, "/bin").Files},
		{OperatorController(layout, "/bin").Env, OperatorController(layout, "/bin").Files},
	} {
		if !slices.Contains(spec.environment, "HOME=/cache/cluster/olmv1/home") {
			t.Errorf("the environment is %v", spec.environment)
		}
		for path, content := range ConfigFiles(layout) {
			if !slices.Contains(spec.files, path) || strings.Count(content, host.Registry) != 2 {
				t.Errorf("%s has %s; the files are %v", path, content, spec.files)
			}
		}
	}
}
