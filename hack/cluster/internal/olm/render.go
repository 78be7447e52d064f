// Package olm installs the Operator Lifecycle Manager from its own chart, waits until it works, and mirrors its release page.
package olm

import (
	"bytes"
	"fmt"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
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
		object, err := decode(crd.Filename, string(crd.File.Data))
		if err != nil {
			return Manifests{}, err
		}
		manifests.CRDs = append(manifests.CRDs, object)
	}
	manifests.Objects, err = inOrder(rendered)
	return manifests, err
}

// inOrder decodes rendered templates in Helm's order: namespaces first. OLM's chart has no hooks.
func inOrder(rendered map[string]string) ([]*unstructured.Unstructured, error) {
	_, sorted, err := releaseutil.SortManifests(rendered, nil, releaseutil.InstallOrder)
	if err != nil {
		return nil, fmt.Errorf("sort OLM's manifests: %w", err)
	}
	var objects []*unstructured.Unstructured
	for _, manifest := range sorted {
		if manifest.Head.Kind == "" {
			continue // It has only comments.
		}
		object, err := decode(manifest.Name, manifest.Content)
		if err != nil {
			return nil, err
		}
		if object.GetKind() != "CatalogSource" || object.GetName() != publicCatalog {
			objects = append(objects, object)
		}
	}
	return objects, nil
}

func decode(name, content string) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(content), object); err != nil {
		return nil, fmt.Errorf("read %s of OLM's chart: %w", name, err)
	}
	return object, nil
}

// YAML encodes objects as one YAML stream, as on a release page.
func YAML(objects []*unstructured.Unstructured) ([]byte, error) {
	var stream bytes.Buffer
	for _, object := range objects {
		data, err := yaml.Marshal(object.Object)
		if err != nil {
			return nil, fmt.Errorf("encode %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		stream.WriteString("---\n")
		stream.Write(data)
	}
	return stream.Bytes(), nil
}
