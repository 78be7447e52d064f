package stage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/example/memcached-operator/hack/internal/build"
	"github.com/example/memcached-operator/hack/internal/bundle"
	"github.com/example/memcached-operator/hack/internal/catalog"
	"github.com/example/memcached-operator/hack/internal/checkout"
	"github.com/example/memcached-operator/hack/internal/record"
	"github.com/example/memcached-operator/hack/project"
)

// unreleased stages the version under development, as a release made now would look: the same bundle, with the
// digests of the images just built in the place of tags.
func (s *Stage) unreleased(ctx context.Context, releases *record.Record) (*project.StagedVersion, error) {
	s.Say("v%s: not released, from the files in %s", s.Unreleased, s.Builder.Root)
	current, err := bundle.Compare(s.Builder.Root, s.Unreleased)
	if err != nil {
		return nil, err
	}
	if err := current.Check(); err != nil {
		return nil, err
	}
	version := &project.StagedVersion{Version: s.Unreleased}
	for _, program := range []struct {
		name   string
		binary build.Binary
		staged *string
	}{
		{"operator", build.Operator, &version.OperatorImage},
		{"scorecard", build.Scorecard, &version.ScorecardImage},
	} {
		image, err := s.Builder.Program(ctx, program.binary, s.Unreleased)
		if err != nil {
			return nil, err
		}
		if *program.staged, err = s.push(ctx, build.Repository(program.name), "v"+s.Unreleased, image); err != nil {
			return nil, err
		}
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

// catalog renders the graph over the staged bundles, builds its image and pushes it.
func (s *Stage) catalog(ctx context.Context, result *project.Staged) error {
	content, err := os.ReadFile(filepath.Join(s.Builder.Root, catalog.TemplateFile))
	if err != nil {
		return fmt.Errorf("read the catalog's template: %w", err)
	}
	graph, err := catalog.ParseTemplate(content)
	if err != nil {
		return err
	}
	if err := graph.Rename(s.staged); err != nil {
		return err
	}
	if s.Unreleased != "" {
		newest := result.Versions[len(result.Versions)-1]
		if err := graph.Add(newest.Version, newest.BundleImage, graph.Channels()); err != nil {
			return err
		}
	}
	if content, err = graph.Encode(); err != nil {
		return err
	}
	rendered, err := catalog.Render(ctx, content, func(image string) (string, error) { return s.dirs[image], nil })
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

// staged finds the staged bundle of one that the template names.
func (s *Stage) staged(official string) (string, error) {
	if staged, ok := s.bundles[official]; ok {
		return staged, nil
	}
	return "", fmt.Errorf("%s names the bundle %s, but %s has no release with it", catalog.TemplateFile, official, record.File)
}
