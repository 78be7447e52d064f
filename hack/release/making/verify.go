package making

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/example/memcached-operator/hack/internal/catalog"
	"github.com/example/memcached-operator/hack/internal/record"
	"github.com/example/memcached-operator/hack/project"
)

// Verify checks every release of the checkout at root and returns the versions. The error names everything that is
// wrong, not only the first thing.
func Verify(root string) ([]string, error) {
	releases, err := record.Load(root)
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(filepath.Join(root, catalog.TemplateFile))
	if err != nil {
		return nil, fmt.Errorf("read the catalog's template: %w", err)
	}
	graph, err := catalog.ParseTemplate(content)
	if err != nil {
		return nil, err
	}
	var versions []string
	var wrong []error
	bundles := graph.Bundles()
	for _, release := range releases.Releases {
		versions = append(versions, release.Version)
		wrong = append(wrong, release.Verify(root))
		if i := slices.Index(bundles, release.BundleImage); i >= 0 {
			bundles = slices.Delete(bundles, i, i+1)
		} else {
			wrong = append(wrong, fmt.Errorf("%s lacks the bundle of v%s: add %s", catalog.TemplateFile, release.Version, release.BundleImage))
		}
	}
	for _, image := range bundles {
		wrong = append(wrong, fmt.Errorf("%s names the bundle %s, which is no release, or is named twice", catalog.TemplateFile, image))
	}
	wrong = append(wrong, unrecorded(root, versions))
	return versions, errors.Join(wrong...)
}

// unrecorded finds bundle directories that are neither released nor the version under development.
func unrecorded(root string, released []string) error {
	dirs, err := filepath.Glob(filepath.Join(root, "bundles", "*"))
	if err != nil {
		return fmt.Errorf("list the bundles: %w", err)
	}
	known := []string{filepath.Base(project.BundleDir(project.Version))}
	for _, version := range released {
		known = append(known, filepath.Base(project.BundleDir(version)))
	}
	var wrong []error
	for _, dir := range dirs {
		if !slices.Contains(known, filepath.Base(dir)) {
			wrong = append(wrong, fmt.Errorf("bundles/%s is neither released nor the version under development (%s): remove it",
				filepath.Base(dir), project.Version))
		}
	}
	return errors.Join(wrong...)
}
