package stage

import (
	"context"
	"fmt"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/example/memcached-operator/hack/internal/bundle"
	"github.com/example/memcached-operator/hack/internal/catalog"
	"github.com/example/memcached-operator/hack/internal/checkout"
	"github.com/example/memcached-operator/hack/internal/record"
	"github.com/example/memcached-operator/hack/project"
)

// unreleased stages the version under development as if it was released now: its bundle has the digests of the images
// instead of tags.
func (s *Stage) unreleased(ctx context.Context, releases *record.Record) (*project.StagedVersion, error) {
	s.Progress("v%s: not released, from the files in %s", s.Unreleased, s.Builder.Root)
	current, err := bundle.Compare(s.Builder.Root, s.Unreleased)
	if err != nil {
		return nil, err
	}
	if err := current.Check(); err != nil {
		return nil, err
	}
	version := &project.StagedVersion{Version: s.Unreleased}
	err = s.pushPrograms(ctx, version, func(name string) (v1.Image, error) { return s.Builder.Image(ctx, name, s.Unreleased) })
	if err != nil {
		return nil, err
	}
	before, err := releases.Before(s.Unreleased)
	if err != nil {
		return nil, err
	}
	pins := bundle.Unreleased(s.Unreleased, before)
	pins.OperatorImage, pins.ScorecardImage = version.OperatorImage, version.ScorecardImage
	files, err := bundle.Compose(s.Builder.Root, pins)
	if err != nil {
		return nil, err
	}
	version.BundleImage, err = s.bundle(ctx, s.Unreleased, "", files)
	return version, err
}

// catalog renders the catalog of the staged bundles, builds its image and pushes it.
func (s *Stage) catalog(ctx context.Context, result *project.Staged) error {
	template, err := catalog.LoadTemplate(s.Builder.Root)
	if err != nil {
		return err
	}
	err = template.Rename(func(official string) (string, error) {
		if staged, ok := s.bundles[official]; ok {
			return staged, nil
		}
		return "", fmt.Errorf("%s names the bundle %s, but %s has no release with it", catalog.TemplateFile, official, record.File)
	})
	if err != nil {
		return err
	}
	if s.Unreleased != "" {
		newest := result.Versions[len(result.Versions)-1]
		if err := template.Add(newest.Version, newest.BundleImage, template.Channels()); err != nil {
			return err
		}
	}
	rendered, err := catalog.Render(ctx, template.Content(), func(image string) (string, error) { return s.dirs[image], nil })
	if err != nil {
		return err
	}
	dir := filepath.Join(s.Out, "catalog")
	if _, err := (checkout.Files{project.Package + "/catalog.yaml": rendered}).Write(dir); err != nil {
		return err
	}
	image, err := s.Builder.Catalog(ctx, dir)
	if err != nil {
		return err
	}
	result.CatalogTag = s.Registry.Refer(project.CatalogImage) + ":latest"
	result.CatalogImage, err = s.push(ctx, project.CatalogImage, "latest", image)
	return err
}
