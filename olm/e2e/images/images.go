// Package images reads and edits images in memory, and builds the images of the tests' own programs without an image
// builder: each is one static binary, compiled from the checkout.
package images

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Pull pulls an image from a registry.
func Pull(ctx context.Context, reference string) (v1.Image, error) {
	ref, err := name.ParseReference(reference)
	if err != nil {
		return nil, fmt.Errorf("parse the image reference: %w", err)
	}
	image, err := remote.Image(ref, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
	if err != nil {
		return nil, fmt.Errorf("pull %s: %w", reference, err)
	}
	return image, nil
}

// File reads one file of an image.
func File(image v1.Image, path string) ([]byte, error) {
	stream := mutate.Extract(image)
	defer stream.Close() // A pipe from memory: closing it only stops the reading.
	for archive := tar.NewReader(stream); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("it has no file %s", path)
		}
		if err != nil {
			return nil, fmt.Errorf("read its files: %w", err)
		}
		if strings.TrimPrefix(header.Name, "/") == path {
			return io.ReadAll(archive)
		}
	}
}

// WithFile adds a file to an image, or replaces it.
func WithFile(image v1.Image, path string, mode int64, content []byte) (v1.Image, error) {
	var layer bytes.Buffer
	archive := tar.NewWriter(&layer)
	if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: path, Size: int64(len(content)), Mode: mode}); err != nil {
		return nil, err
	}
	if _, err := archive.Write(content); err != nil {
		return nil, err
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	added, err := tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(layer.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	return mutate.AppendLayers(image, added)
}
