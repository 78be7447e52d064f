package making

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/example/memcached-operator/hack/internal/build"
	"github.com/example/memcached-operator/hack/internal/bundle"
	"github.com/example/memcached-operator/hack/internal/catalog"
	"github.com/example/memcached-operator/hack/internal/checkout"
	"github.com/example/memcached-operator/hack/internal/record"
	"github.com/example/memcached-operator/hack/project"
)

// Make builds the release and writes it into the checkout: the bundle directory, the catalog and its template, the
// record. When it fails before the end, the checkout is as it was.
func (p *Plan) Make(ctx context.Context, builder build.Builder) (*record.Release, error) {
	release := &record.Release{Version: p.Version, Commit: p.Head.Commit, Date: p.Head.Date, Go: goVersion()}
	if err := programs(ctx, builder, release); err != nil {
		return nil, err
	}
	files, err := p.bundle(ctx, builder, release)
	if err != nil {
		return nil, err
	}
	graph, err := p.graph(release)
	if err != nil {
		return nil, err
	}
	releases := &record.Record{Releases: append(slices.Clone(p.releases.Releases), *release)}
	rendered, err := p.catalog(ctx, graph, releases, release, files)
	if err != nil {
		return nil, err
	}
	// Everything is known to be good: from here on there is only writing.
	if _, err := files.Write(filepath.Join(p.root, project.BundleDir(p.Version))); err != nil {
		return nil, err
	}
	if err := writeAll(p.root, map[string][]byte{catalog.TemplateFile: graph}); err != nil {
		return nil, err
	}
	if _, err := catalog.Write(p.root, rendered); err != nil {
		return nil, err
	}
	return release, releases.Save(p.root)
}

// programs builds the program images and puts their digests into the release.
func programs(ctx context.Context, builder build.Builder, release *record.Release) error {
	operator, err := builder.Program(ctx, build.Operator, release.Version)
	if err != nil {
		return err
	}
	if release.OperatorImage, err = reference(project.OperatorImage, operator); err != nil {
		return err
	}
	scorecard, err := builder.Program(ctx, build.Scorecard, release.Version)
	if err != nil {
		return err
	}
	release.ScorecardImage, err = reference(project.ScorecardImage, scorecard)
	return err
}

// bundle composes the bundle with the release's images pinned, validates it and puts its digests into the release.
func (p *Plan) bundle(ctx context.Context, builder build.Builder, release *record.Release) (checkout.Files, error) {
	before, err := p.releases.Before(release.Version)
	if err != nil {
		return nil, err
	}
	files, err := bundle.Compose(p.root, bundle.Released(*release, before))
	if err != nil {
		return nil, err
	}
	err = inScratch(files, func(dir string) error {
		if err := bundle.Validate(dir); err != nil {
			return err
		}
		image, err := builder.Bundle(ctx, dir)
		if err != nil {
			return err
		}
		release.BundleImage, err = reference(project.BundleImage, image)
		return err
	})
	release.Bundle, release.Files = record.Hash(files)
	return files, err
}

// graph is the template with the release in it.
func (p *Plan) graph(release *record.Release) ([]byte, error) {
	content, err := os.ReadFile(filepath.Join(p.root, catalog.TemplateFile))
	if err != nil {
		return nil, fmt.Errorf("read the catalog's template: %w", err)
	}
	graph, err := catalog.ParseTemplate(content)
	if err != nil {
		return nil, err
	}
	if err := graph.Add(release.Version, release.BundleImage, p.Channels); err != nil {
		return nil, err
	}
	return graph.Encode()
}

// catalog renders the graph; the release's own bundle is not in the checkout yet.
func (p *Plan) catalog(
	ctx context.Context, graph []byte, releases *record.Record, release *record.Release, files checkout.Files,
) (rendered []byte, err error) {
	err = inScratch(files, func(dir string) error {
		older := catalog.Released(p.root, releases)
		rendered, err = catalog.Render(ctx, graph, func(image string) (string, error) {
			if image == release.BundleImage {
				return dir, nil
			}
			return older(image)
		})
		return err
	})
	return rendered, err
}

// inScratch calls do with a temporary directory that holds the files.
func inScratch(files checkout.Files, do func(dir string) error) error {
	dir, err := os.MkdirTemp("", "memcached-operator-bundle-")
	if err != nil {
		return fmt.Errorf("make room for the bundle: %w", err)
	}
	defer os.RemoveAll(dir) // Below the system's temporary directory, which is swept anyway.
	if _, err := files.Write(dir); err != nil {
		return err
	}
	return do(dir)
}

// reference is how the image is referred to, by digest.
func reference(repository string, image v1.Image) (string, error) {
	digest, err := image.Digest()
	if err != nil {
		return "", fmt.Errorf("compute the digest of %s: %w", repository, err)
	}
	return repository + "@" + digest.String(), nil
}
