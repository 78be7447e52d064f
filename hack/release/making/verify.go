package making

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/example/memcached-operator/hack/internal/catalog"
	"github.com/example/memcached-operator/hack/internal/record"
	"github.com/example/memcached-operator/hack/project"
)

// Verify checks every release of the checkout at root, and returns their versions. The error names every problem.
func Verify(root string) ([]string, error) {
	releases, err := record.Load(root)
	if err != nil {
		return nil, err
	}
	template, err := catalog.LoadTemplate(root)
	if err != nil {
		return nil, err
	}
	var versions []string
	var errs []error
	bundles := template.Bundles()
	for _, release := range releases.Releases {
		versions = append(versions, release.Version)
		errs = append(errs, release.Verify(root))
		if i := slices.Index(bundles, release.BundleImage); i >= 0 {
			bundles = slices.Delete(bundles, i, i+1)
		} else {
			errs = append(errs, fmt.Errorf("%s lacks the bundle of v%s: add %s", catalog.TemplateFile, release.Version, release.BundleImage))
		}
	}
	for _, image := range bundles {
		errs = append(errs, fmt.Errorf("%s names the bundle %s, which is no release, or is named twice", catalog.TemplateFile, image))
	}
	dirs, err := filepath.Glob(filepath.Join(root, "bundles", "*"))
	if err != nil {
		return nil, fmt.Errorf("list the bundles: %w", err)
	}
	for _, dir := range dirs {
		name := "bundles/" + filepath.Base(dir)
		isKnown := func(version string) bool { return project.BundleDir(version) == name }
		if !isKnown(project.Version) && !slices.ContainsFunc(versions, isKnown) {
			errs = append(errs, fmt.Errorf("%s is neither released nor the version under development (%s): remove it", name, project.Version))
		}
	}
	return versions, errors.Join(errs...)
}
