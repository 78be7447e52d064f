package oci

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/match"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	imagespec "github.com/opencontainers/image-spec/specs-go/v1"
)

// CacheDir returns the cache directory of the project: $XDG_CACHE_HOME/memcached-operator, or ~/.cache/memcached-operator.
func CacheDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache directory: %w", err)
	}
	return filepath.Join(cache, "memcached-operator"), nil
}

// Store keeps images by name in a directory outside the checkout, from their build to their push. The directory is an OCI
// image layout, which other tools can read too.
type Store struct{ path layout.Path }

// OpenStore opens the store in dir, and creates it if it does not exist.
func OpenStore(dir string) (*Store, error) {
	path, err := layout.FromPath(dir)
	if errors.Is(err, fs.ErrNotExist) {
		path, err = layout.Write(dir, empty.Index)
	}
	if err != nil {
		return nil, fmt.Errorf("open the images in %s (delete the directory if it is damaged): %w", dir, err)
	}
	return &Store{path}, nil
}

// DefaultStore opens the store in CacheDir, which all commands share.
func DefaultStore() (*Store, error) {
	cache, err := CacheDir()
	if err != nil {
		return nil, err
	}
	return OpenStore(filepath.Join(cache, "images"))
}

// Put stores an image under a name, and replaces an older image of that name.
func (s *Store) Put(name string, image v1.Image) error {
	err := s.path.ReplaceImage(image, match.Name(name), layout.WithAnnotations(map[string]string{imagespec.AnnotationRefName: name}))
	if err != nil {
		return fmt.Errorf("store %s: %w", name, err)
	}
	return nil
}

// Get returns the image of a name, or nil if there is none.
func (s *Store) Get(name string) (v1.Image, error) {
	index, err := s.path.ImageIndex()
	if err != nil {
		return nil, fmt.Errorf("read the store's index: %w", err)
	}
	images, err := partial.FindImages(index, match.Name(name))
	if err != nil {
		return nil, fmt.Errorf("read %s from the store: %w", name, err)
	}
	if len(images) == 0 {
		return nil, nil
	}
	return images[0], nil
}
