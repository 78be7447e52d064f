package olm

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func names(objects []*unstructured.Unstructured) []string {
	var list []string
	for _, object := range objects {
		list = append(list, object.GetKind()+"/"+object.GetName())
	}
	return list
}

func render(t *testing.T) Manifests {
	t.Helper()
	manifests, err := Render("testdata/module", "v0.46.0", "registry/olm:1", "registry/opm:1")
	if err != nil {
		t.Fatal(err)
	}
	return manifests
}

func TestRenderLeavesOutThePublicCatalogAndPutsNamespacesFirst(t *testing.T) {
	manifests := render(t)
	want := []string{"Namespace/olm", "Deployment/olm", "Deployment/package", "CatalogSource/other"}
	if got := names(manifests.Objects); !slices.Equal(got, want) {
		t.Errorf("objects are %v, want %v", got, want)
	}
	if got := names(manifests.CRDs); !slices.Equal(got, []string{"CustomResourceDefinition/catalogsources.operators.coreos.com"}) {
		t.Errorf("definitions are %v", got)
	}
}

func TestRenderSetsVersionAndImagesAndKeepsUpstreamsValues(t *testing.T) {
	objects := render(t).Objects
	text, err := YAML(objects)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"version: 0.46.0", "image: registry/olm:1", "pull: IfNotPresent", "args: --opmImage=registry/opm:1"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is missing from\n%s", want, text)
		}
	}
	// The components' values must not run into each other.
	replicas := map[string]int64{}
	for _, object := range objects {
		replicas[object.GetName()], _, _ = unstructured.NestedInt64(object.Object, "spec", "replicas")
	}
	if replicas["package"] != 2 {
		t.Errorf("package has %d replicas, want upstream's 2", replicas["package"])
	}
}

func TestYAMLReadsBackAsTheSameObjects(t *testing.T) {
	objects := render(t).Objects
	text, err := YAML(objects)
	if err != nil {
		t.Fatal(err)
	}
	var back []*unstructured.Unstructured
	for document := range strings.SplitSeq(strings.TrimPrefix(string(text), "---\n"), "\n---\n") {
		object, err := decode("the stream", document)
		if err != nil {
			t.Fatal(err)
		}
		back = append(back, object)
	}
	if !slices.Equal(names(back), names(objects)) {
		t.Errorf("read back %v, want %v", names(back), names(objects))
	}
}
