package compat

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/api/pkg/manifests"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/example/memcached-operator/hack/internal/record"
	"github.com/example/memcached-operator/hack/project"
)

// CorpusDir holds objects that the samples for users do not cover, such as very large ones, relative to the root of the
// checkout. A file may hold several.
const CorpusDir = "hack/bundle/compat/testdata/corpus"

// sampleDir holds the samples for users.
const sampleDir = "olm/samples"

// Release is a released version, or the one under development.
type Release struct {
	// Version is the semantic version, without a leading v.
	Version string
	// CRDs are those of the bundle, sorted by name.
	CRDs []*apiextensionsv1.CustomResourceDefinition
	// Examples are the objects in the alm-examples of the ClusterServiceVersion.
	Examples []Sample

	version semver.Version
}

// Sample is an object that a user may have.
type Sample struct {
	// Source is its file, relative to the root of the checkout.
	Source string
	Object *unstructured.Unstructured
}

// String names the sample in messages.
func (s Sample) String() string {
	return fmt.Sprintf("%s %q (%s)", s.Object.GetKind(), s.Object.GetName(), s.Source)
}

func (s Sample) isOf(crd *apiextensionsv1.CustomResourceDefinition) bool {
	gvk := s.Object.GroupVersionKind()
	return gvk.Group == crd.Spec.Group && gvk.Kind == crd.Spec.Names.Kind
}

// Releases reads the bundles of all releases before the version under development, oldest first. The version under
// development comes last.
func Releases(root, development string) ([]Release, error) {
	recorded, err := record.Load(root)
	if err != nil {
		return nil, err
	}
	newest, err := semver.Parse(development)
	if err != nil {
		return nil, fmt.Errorf("version %q is not a semantic version such as 1.2.3: %w", development, err)
	}
	var versions []semver.Version
	for _, r := range recorded.Releases {
		if v := semver.MustParse(r.Version); v.LT(newest) { // The record has only semantic versions.
			versions = append(versions, v)
		}
	}
	var releases []Release
	for _, version := range append(versions, newest) {
		release, err := readRelease(root, version)
		if err != nil {
			return nil, err
		}
		releases = append(releases, release)
	}
	return releases, nil
}

func readRelease(root string, version semver.Version) (Release, error) {
	dir := project.BundleDir(version.String())
	bundle, err := manifests.GetBundleFromDir(filepath.Join(root, dir))
	if err != nil {
		return Release{}, fmt.Errorf("%s cannot be read as a bundle (is it the version under development? run `make bundle`): %w", dir, err)
	}
	if bundle.CSV == nil {
		return Release{}, fmt.Errorf("%s has no ClusterServiceVersion: run `make bundle`, or restore it from git", dir)
	}
	release := Release{Version: version.String(), CRDs: bundle.V1CRDs, version: version}
	slices.SortFunc(release.CRDs, func(a, b *apiextensionsv1.CustomResourceDefinition) int {
		return strings.Compare(a.Name, b.Name)
	})
	var examples []*unstructured.Unstructured
	if err := json.Unmarshal([]byte(cmp.Or(bundle.CSV.Annotations["alm-examples"], "[]")), &examples); err != nil {
		return Release{}, fmt.Errorf("read the alm-examples in %s: %w", dir, err)
	}
	for _, example := range examples {
		release.Examples = append(release.Examples, Sample{Source: dir + ", alm-examples", Object: example})
	}
	return release, nil
}

// Corpus reads the samples for users and the corpus of the checkout at root.
func Corpus(root string) ([]Sample, error) {
	var samples []Sample
	for _, dir := range []string{sampleDir, CorpusDir} {
		names, err := filepath.Glob(filepath.Join(root, dir, "*.yaml"))
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", dir, err)
		}
		for _, name := range names { // Glob returns them sorted.
			content, err := os.ReadFile(name)
			if err != nil {
				return nil, fmt.Errorf("read a sample: %w", err)
			}
			more, err := decode(dir+"/"+filepath.Base(name), content)
			if err != nil {
				return nil, err
			}
			samples = append(samples, more...)
		}
	}
	return samples, nil
}

// decode reads the YAML documents of a file.
func decode(source string, content []byte) ([]Sample, error) {
	var samples []Sample
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), len(content)); ; {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return samples, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s holds something that is not a Kubernetes object: %w", source, err)
		}
		samples = append(samples, Sample{Source: source, Object: object})
	}
}
