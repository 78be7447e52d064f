package testkit

import (
	"archive/tar"
	"bytes"
	"context"
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

// FakeEngine is a build.Engine that runs no program. Its images hold the files of the build context. Their labels are
// the build arguments and the name of the Dockerfile.
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
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil })
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	labels := map[string]string{"dockerfile": filepath.Base(request.Dockerfile)}
	maps.Copy(labels, request.Args)
	return mutate.Config(image, v1.Config{Labels: labels})
}
