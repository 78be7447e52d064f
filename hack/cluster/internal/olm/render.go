// Package olm installs the Operator Lifecycle Manager from its own chart, waits until it works, and mirrors its release page.
package olm

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

// publicCatalog is a CatalogSource of OLM's chart that needs the internet. It is left out, because one unreachable catalog
// blocks every resolution.
const publicCatalog = "operatorhubio-catalog"

// Manifests are OLM's objects in the order of their creation.
type Manifests struct {
	CRDs    []*unstructured.Unstructured
	Objects []*unstructured.Unstructured
}

// Render renders deploy/chart of the OLM module in moduleDir as the given version, with the given images.
func Render(moduleDir, version, olmImage, opmImage string) (Manifests, error) {
	chart, err := loader.Load(moduleDir + "/deploy/chart")
	if err != nil {
		return Manifests{}, fmt.Errorf("load OLM's chart: %w", err)
	}
	upstream, err := chartutil.ReadValuesFile(moduleDir + "/deploy/upstream/values.yaml")
	if err != nil {
		return Manifests{}, fmt.Errorf("read OLM's values: %w", err)
	}
	// The chart in the module has no version. Releases set it, and operator-sdk reads it from the cluster.
	chart.Metadata.Version, chart.Metadata.AppVersion = strings.TrimPrefix(version, "v"), version
	image := func() map[string]any { return map[string]any{"ref": olmImage, "pullPolicy": "IfNotPresent"} }
	ours := map[string]any{
		"olm":     map[string]any{"image": image()},
		"package": map[string]any{"image": image()},
		"catalog": map[string]any{"image": image(), "opmImageArgs": "--opmImage=" + opmImage},
	}
	values, err := chartutil.ToRenderValues(chart, chartutil.CoalesceTables(ours, upstream),
		chartutil.ReleaseOptions{Name: "olm", Namespace: "olm", IsInstall: true}, nil)
	if err != nil {
		return Manifests{}, fmt.Errorf("merge OLM's values: %w", err)
	}
	rendered, err := engine.Render(chart, values)
	if err != nil {
		return Manifests{}, fmt.Errorf("render OLM's chart: %w", err)
	}
	var manifests Manifests
	for _, crd := range chart.CRDObjects() {
		objects, err := decode(crd.File.Data)
		if err != nil {
			return Manifests{}, fmt.Errorf("read %s: %w", crd.Filename, err)
		}
		manifests.CRDs = append(manifests.CRDs, objects...)
	}
	manifests.Objects, err = inOrder(rendered)
	return manifests, err
}

// inOrder decodes rendered templates and sorts the objects in Helm's order: namespaces first.
func inOrder(rendered map[string]string) ([]*unstructured.Unstructured, error) {
	place := func(object *unstructured.Unstructured) int {
		if at := slices.Index(releaseutil.InstallOrder, object.GetKind()); at >= 0 {
			return at
		}
		return len(releaseutil.InstallOrder)
	}
	var objects []*unstructured.Unstructured
	for _, file := range slices.Sorted(maps.Keys(rendered)) {
		if strings.HasPrefix(path.Base(file), "_") {
			continue
		}
		decoded, err := decode([]byte(rendered[file]))
		if err != nil {
			return nil, fmt.Errorf("read the rendered %s: %w", file, err)
		}
		for _, object := range decoded {
			if object.GetKind() != "CatalogSource" || object.GetName() != publicCatalog {
				objects = append(objects, object)
			}
		}
	}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return place(a) - place(b) })
	return objects, nil
}

// decode reads the objects of a YAML stream.
func decode(data []byte) ([]*unstructured.Unstructured, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	var objects []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if err == io.EOF { //nolint:errorlint // the decoder returns it bare
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// YAML encodes objects as one YAML stream, as on a release page.
func YAML(objects []*unstructured.Unstructured) ([]byte, error) {
	var stream bytes.Buffer
	for _, object := range objects {
		data, err := sigsyaml.Marshal(object.Object)
		if err != nil {
			return nil, fmt.Errorf("encode %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		stream.WriteString("---\n")
		stream.Write(data)
	}
	return stream.Bytes(), nil
}
