// Package stage publishes every release, and optionally the version under development, to a registry from which a cluster
// can install them through OLM. It rebuilds the images of programs from the commits of their releases, takes bundles
// from their frozen directories, and builds a catalog of them.
//
// It replaces only operand images, by declared stand-ins, and the registry of the project's images. Everything else must
// have the released digests.
package stage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/hack/internal/build"
	"github.com/example/memcached-operator/hack/internal/checkout"
	"github.com/example/memcached-operator/hack/internal/record"
	"github.com/example/memcached-operator/hack/oci"
	"github.com/example/memcached-operator/hack/project"
)

// Stage stages releases.
type Stage struct {
	Builder  build.Builder
	Registry project.Registry
	Operands project.StandIns
	// Unreleased is the version under development, to stage after the releases. It is empty if none is to be staged.
	Unreleased string
	// NewestOnly leaves out the images of programs of all but the newest version: older versions are in the catalog, but
	// their pods cannot start. Rebuilding three of them takes two cores more than two minutes.
	NewestOnly bool
	// Out is the directory for the staged bundles, the catalog, and the manifests of olm/.
	Out string
	// Progress prints what is done.
	Progress func(format string, args ...any)

	// bundles maps official references of bundles to staged ones, dirs staged references to directories.
	bundles, dirs map[string]string
}

// Check checks that all images can be pushed. Call it before Run, which builds for minutes.
func (s *Stage) Check(ctx context.Context) error {
	for _, name := range build.Names {
		if err := oci.CheckPush(ctx, s.Registry.Push(build.Repository(name))); err != nil {
			return err
		}
	}
	return nil
}

// Run stages everything.
func (s *Stage) Run(ctx context.Context) (*project.Staged, error) {
	releases, err := record.Load(s.Builder.Root)
	if err != nil {
		return nil, err
	}
	s.bundles, s.dirs = map[string]string{}, map[string]string{}
	result := &project.Staged{Operands: s.Operands}
	for _, line := range s.Operands.Lines() {
		s.Progress("operand %s", line)
	}
	for _, release := range releases.Releases {
		newest := s.Unreleased == "" && release.Version == releases.Last().Version
		version, err := s.released(ctx, release, newest || !s.NewestOnly)
		if err != nil {
			return nil, err
		}
		result.Versions = append(result.Versions, *version)
	}
	if s.Unreleased != "" {
		version, err := s.unreleased(ctx, releases)
		if err != nil {
			return nil, err
		}
		result.Versions = append(result.Versions, *version)
	}
	if len(result.Versions) == 0 {
		return nil, fmt.Errorf("nothing is released yet, so there is nothing to stage: add --with-unreleased for v%s", project.Version)
	}
	if err := s.catalog(ctx, result); err != nil {
		return nil, err
	}
	return result, s.manifests(result.CatalogImage)
}

// released stages a release: the bundle as frozen and, if programs is set, the images of programs as recorded.
func (s *Stage) released(ctx context.Context, release record.Release, programs bool) (*project.StagedVersion, error) {
	s.Progress("v%s: released, from commit %s", release.Version, release.Commit)
	if err := release.Verify(s.Builder.Root); err != nil {
		return nil, err
	}
	version := &project.StagedVersion{Version: release.Version, Released: true}
	if programs {
		recorded := map[string]string{"operator": release.OperatorImage, "scorecard": release.ScorecardImage}
		err := s.pushPrograms(ctx, version, func(name string) (v1.Image, error) {
			return Rebuild(ctx, s.Builder.Root, release, name, recorded[name])
		})
		if err != nil {
			return nil, err
		}
	} else {
		s.Progress("  without its programs: its pods cannot start")
	}
	files, err := checkout.ReadFiles(filepath.Join(s.Builder.Root, project.BundleDir(release.Version)))
	if err != nil {
		return nil, err
	}
	version.BundleImage, err = s.bundle(ctx, release.Version, release.BundleImage, files)
	return version, err
}

// pushPrograms builds the images of the programs, pushes them, and sets their references in the version.
func (s *Stage) pushPrograms(ctx context.Context, version *project.StagedVersion, build func(name string) (v1.Image, error)) error {
	for _, program := range []struct {
		name, repository string
		staged           *string
	}{
		{"operator", project.OperatorImage, &version.OperatorImage},
		{"scorecard", project.ScorecardImage, &version.ScorecardImage},
	} {
		image, err := build(program.name)
		if err != nil {
			return err
		}
		if *program.staged, err = s.push(ctx, program.repository, "v"+version.Version, image); err != nil {
			return err
		}
	}
	return nil
}

// bundle replaces operands and the registry in the files of a bundle, builds its image and pushes it. official is the
// reference in the catalog's template, or empty if the template does not have the bundle.
func (s *Stage) bundle(ctx context.Context, version, official string, files checkout.Files) (string, error) {
	staged := checkout.Files{}
	for name, content := range files {
		replaced, err := s.Operands.Replace(content)
		if err != nil {
			return "", fmt.Errorf("%s/%s: %w", project.BundleDir(version), name, err)
		}
		staged[name] = s.Registry.Manifest(replaced)
	}
	dir := filepath.Join(s.Out, project.BundleDir(version))
	if _, err := staged.Write(dir); err != nil {
		return "", err
	}
	image, err := s.Builder.Bundle(ctx, dir)
	if err != nil {
		return "", err
	}
	reference, err := s.push(ctx, project.BundleImage, "v"+version, image)
	if err != nil {
		return "", err
	}
	if official != "" && len(staged.Differences(files)) == 0 && reference != official {
		return "", fmt.Errorf("the bundle image of v%s is not the released one: built from %s it is %s, recorded is %s",
			version, project.BundleDir(version), reference, official)
	}
	s.bundles[official], s.dirs[reference] = reference, dir
	return reference, nil
}

// push pushes an image of an official repository and returns its reference by digest in manifests.
func (s *Stage) push(ctx context.Context, official, tag string, image v1.Image) (string, error) {
	if _, err := oci.Push(ctx, s.Registry.Push(official)+":"+tag, image); err != nil {
		return "", err
	}
	digest, err := image.Digest()
	if err != nil {
		return "", fmt.Errorf("compute the digest of %s: %w", official, err)
	}
	s.Progress("  pushed %s:%s as %s", s.Registry.Push(official), tag, digest)
	return s.Registry.Refer(official) + "@" + digest.String(), nil
}

// manifests copies the manifests of olm/, and replaces the registry in them. A second copy names the catalog by its digest.
func (s *Stage) manifests(catalogImage string) error {
	files, err := s.manifestsOf("olm")
	if err != nil {
		return err
	}
	pinned := checkout.Files{}
	for name, content := range files {
		if pinned[name], err = pin(content, catalogImage); err != nil {
			return fmt.Errorf("olm/%s: %w", name, err)
		}
	}
	forV1, err := s.manifestsOf("olm/v1")
	if err != nil {
		return err
	}
	_, err = files.Write(filepath.Join(s.Out, "olm"))
	_, errPinned := pinned.Write(filepath.Join(s.Out, "olm-pinned"))
	_, errV1 := forV1.Write(filepath.Join(s.Out, "olm-v1"))
	return errors.Join(err, errPinned, errV1)
}

// manifestsOf returns the manifests of a folder, with the registry replaced in them.
func (s *Stage) manifestsOf(folder string) (checkout.Files, error) {
	paths, err := filepath.Glob(filepath.Join(s.Builder.Root, filepath.FromSlash(folder), "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("list the manifests in %s: %w", folder, err)
	}
	files := checkout.Files{}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read a manifest: %w", err)
		}
		files[filepath.Base(path)] = s.Registry.Manifest(content)
	}
	return files, nil
}

// pin returns a manifest with which nothing is installed that nobody has approved: a CatalogSource names the image of the catalog by its
// digest, and so is not polled, and a Subscription asks for approval.
func pin(content []byte, catalogImage string) ([]byte, error) {
	var object unstructured.Unstructured
	if err := yaml.Unmarshal(content, &object.Object); err != nil {
		return nil, err
	}
	switch object.GetKind() {
	case operatorsv1alpha1.CatalogSourceKind:
		unstructured.RemoveNestedField(object.Object, "spec", "updateStrategy")
		if err := unstructured.SetNestedField(object.Object, catalogImage, "spec", "image"); err != nil {
			return nil, err
		}
	case operatorsv1alpha1.SubscriptionKind:
		if err := unstructured.SetNestedField(object.Object, string(operatorsv1alpha1.ApprovalManual), "spec", "installPlanApproval"); err != nil {
			return nil, err
		}
	default:
		return content, nil
	}
	return yaml.Marshal(object.Object)
}
