package making

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/example/memcached-operator/hack/internal/build"
	"github.com/example/memcached-operator/hack/internal/bundle"
	"github.com/example/memcached-operator/hack/internal/catalog"
	"github.com/example/memcached-operator/hack/internal/checkout"
	"github.com/example/memcached-operator/hack/internal/record"
	"github.com/example/memcached-operator/hack/project"
)

// Make builds the release and writes it to the checkout: the bundle, the catalog and its template, and the record. If it
// fails before it writes, the checkout is unchanged.
func (p *Plan) Make(ctx context.Context, builder build.Builder) (*record.Release, error) {
	// `go run` compiles this program with the go command that also compiles the images.
	release := &record.Release{Version: p.Version, Commit: p.Head.Commit, Date: p.Head.Date, Go: runtime.Version()}
	dir, err := os.MkdirTemp("", "memcached-operator-bundle-")
	if err != nil {
		return nil, fmt.Errorf("create a directory for the bundle: %w", err)
	}
	defer os.RemoveAll(dir)
	if err := buildPrograms(ctx, builder, release); err != nil {
		return nil, err
	}
	files, err := p.buildBundle(ctx, builder, release, dir)
	if err != nil {
		return nil, err
	}
	template, err := p.template(release)
	if err != nil {
		return nil, err
	}
	releases := &record.Record{Releases: append(slices.Clone(p.releases.Releases), *release)}
	rendered, err := catalog.Render(ctx, template, func(image string) (string, error) {
		if image == release.BundleImage { // The checkout does not have this bundle yet.
			return dir, nil
		}
		return catalog.Released(p.root, releases)(image)
	})
	if err != nil {
		return nil, err
	}

	if _, err := files.Write(filepath.Join(p.root, project.BundleDir(p.Version))); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(p.root, catalog.TemplateFile), template, 0o644); err != nil {
		return nil, fmt.Errorf("write the template of the catalog: %w", err)
	}
	if _, err := catalog.Write(p.root, rendered); err != nil {
		return nil, err
	}
	return release, releases.Save(p.root)
}

// buildPrograms builds the images of programs and records their digests.
func buildPrograms(ctx context.Context, builder build.Builder, release *record.Release) error {
	for _, program := range []struct {
		name     string
		recorded *string
	}{{"operator", &release.OperatorImage}, {"scorecard", &release.ScorecardImage}} {
		image, err := builder.Image(ctx, program.name, release.Version)
		if err != nil {
			return err
		}
		if *program.recorded, err = reference(build.Repository(program.name), image); err != nil {
			return err
		}
	}
	return nil
}

// buildBundle composes the bundle with the recorded images in dir, validates it, and records its digests.
func (p *Plan) buildBundle(ctx context.Context, builder build.Builder, release *record.Release, dir string) (checkout.Files, error) {
	before, err := p.releases.Before(release.Version)
	if err != nil {
		return nil, err
	}
	files, err := bundle.Compose(p.root, bundle.Released(*release, before))
	if err != nil {
		return nil, err
	}
	if _, err := files.Write(dir); err != nil {
		return nil, err
	}
	if err := bundle.Validate(dir); err != nil {
		return nil, err
	}
	image, err := builder.Bundle(ctx, dir)
	if err != nil {
		return nil, err
	}
	release.Bundle, release.Files = record.Hash(files)
	release.BundleImage, err = reference(project.BundleImage, image)
	return files, err
}

// template returns the template of the catalog with the release.
func (p *Plan) template(release *record.Release) ([]byte, error) {
	template, err := catalog.LoadTemplate(p.root)
	if err != nil {
		return nil, err
	}
	if err := template.Add(release.Version, release.BundleImage, p.Channels); err != nil {
		return nil, err
	}
	return template.Content(), nil
}

// reference returns the reference of an image by digest.
func reference(repository string, image v1.Image) (string, error) {
	digest, err := image.Digest()
	if err != nil {
		return "", fmt.Errorf("compute the digest of %s: %w", repository, err)
	}
	return repository + "@" + digest.String(), nil
}
