package stage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/example/memcached-operator/hack/internal/build"
	"github.com/example/memcached-operator/hack/internal/checkout"
	"github.com/example/memcached-operator/hack/internal/record"
	"github.com/example/memcached-operator/hack/oci"
	"github.com/example/memcached-operator/hack/project"
)

// Stage is one run.
type Stage struct {
	Builder  build.Builder
	Registry project.Registry
	Operands project.StandIns
	// Unreleased is the version under development, to be staged after the releases; empty for none.
	Unreleased string
	// Out is the directory that receives the staged bundles, catalog and manifests of olm/.
	Out string
	// Say tells the user what is going on.
	Say func(format string, args ...any)

	// bundles maps official bundle references to staged ones, dirs staged ones to their directories.
	bundles, dirs map[string]string
}

// Check makes sure that all images can be pushed. It is called before anything is built.
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
		s.Say("operand %s", line)
	}
	for _, release := range releases.Releases {
		version, err := s.released(ctx, release)
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
	return result, s.manifests()
}

// released stages a release: program images as recorded, the bundle as frozen.
func (s *Stage) released(ctx context.Context, release record.Release) (*project.StagedVersion, error) {
	s.Say("v%s: released, from commit %s", release.Version, release.Commit)
	if err := release.Verify(s.Builder.Root); err != nil {
		return nil, err
	}
	version := &project.StagedVersion{Version: release.Version, Released: true}
	var err error
	for _, program := range []struct {
		name, official string
		staged         *string
	}{
		{"operator", release.OperatorImage, &version.OperatorImage},
		{"scorecard", release.ScorecardImage, &version.ScorecardImage},
	} {
		image, err := Rebuild(ctx, s.Builder.Root, release, program.name, program.official)
		if err != nil {
			return nil, err
		}
		if *program.staged, err = s.push(ctx, build.Repository(program.name), "v"+release.Version, image); err != nil {
			return nil, err
		}
	}
	files, err := checkout.ReadFiles(filepath.Join(s.Builder.Root, project.BundleDir(release.Version)))
	if err != nil {
		return nil, err
	}
	version.BundleImage, err = s.bundle(ctx, release.Version, release.BundleImage, files)
	return version, err
}

// bundle replaces what may be replaced in a bundle's files, builds its image and pushes it. The official reference is
// what the catalog's template calls it; empty if it is not there.
func (s *Stage) bundle(ctx context.Context, version, official string, files checkout.Files) (string, error) {
	staged, changed := checkout.Files{}, false
	for name, content := range files {
		replaced, err := s.Operands.Replace(content)
		if err != nil {
			return "", fmt.Errorf("%s/%s: %w", project.BundleDir(version), name, err)
		}
		staged[name] = s.Registry.Manifest(replaced)
		changed = changed || string(staged[name]) != string(content)
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
	if official != "" && !changed && reference != official {
		return "", fmt.Errorf("the bundle image of v%s is not the released one: built from %s it is %s, recorded is %s",
			version, project.BundleDir(version), reference, official)
	}
	s.bundles[official], s.dirs[reference] = reference, dir
	return reference, nil
}

// push pushes an image of an official repository and returns how manifests refer to it by digest.
func (s *Stage) push(ctx context.Context, official, tag string, image v1.Image) (string, error) {
	if _, err := oci.Push(ctx, s.Registry.Push(official)+":"+tag, image); err != nil {
		return "", err
	}
	digest, err := image.Digest()
	if err != nil {
		return "", fmt.Errorf("compute the digest of %s: %w", official, err)
	}
	reference := s.Registry.Refer(official) + "@" + digest.String()
	s.Say("  pushed %s:%s as %s", s.Registry.Push(official), tag, digest)
	return reference, nil
}

// manifests copies the installation manifests, with the catalog's image renamed if need be.
func (s *Stage) manifests() error {
	paths, err := filepath.Glob(filepath.Join(s.Builder.Root, "olm", "*.yaml"))
	if err != nil {
		return fmt.Errorf("list the manifests in olm: %w", err)
	}
	files := checkout.Files{}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("read a manifest: %w", err)
		}
		files[filepath.Base(path)] = s.Registry.Manifest(content)
	}
	_, err = files.Write(filepath.Join(s.Out, "olm"))
	return err
}
