// Package buildertest is a builder for tests of what is done with images. It runs no program: an image holds the
// files of its context and is labelled with its Dockerfile's name and arguments.
package testkit

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/example/memcached-operator/hack/internal/build"
)

// FakeEngine is the builder.
type FakeEngine struct{}

// Name implements build.Engine.
func (FakeEngine) Name() string { return "fake" }

// Works implements build.Engine.
func (FakeEngine) Works(context.Context) error { return nil }

// Build implements build.Engine.
func (FakeEngine) Build(_ context.Context, request build.Request) (v1.Image, error) {
	var archive bytes.Buffer
	writer := tar.NewWriter(&archive)
	if err := writer.AddFS(os.DirFS(request.Context)); err != nil {
		return nil, fmt.Errorf("pack %s: %w", request.Context, err)
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("pack %s: %w", request.Context, err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil })
	if err != nil {
		return nil, fmt.Errorf("make the layer: %w", err)
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, fmt.Errorf("add the layer: %w", err)
	}
	labels := maps.Clone(request.Args)
	if labels == nil {
		labels = map[string]string{}
	}
	labels["dockerfile"] = filepath.Base(request.Dockerfile)
	return mutate.Config(image, v1.Config{Labels: labels})
}
