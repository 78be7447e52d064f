// Package served knows the catalog in the checkout: which files it consists of, and whether the rendered one is what
// the template and the released bundles give.
package served

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/example/memcached-operator/hack/bundle/project"
	"github.com/example/memcached-operator/hack/catalog/render"
	"github.com/example/memcached-operator/hack/catalog/template"
	"github.com/example/memcached-operator/hack/release/record"
)

// File is the rendered catalog, relative to the root of the checkout.
const File = "catalog/" + project.Package + "/catalog.yaml"

// Render renders the template of the checkout at root with the bundles that the record names.
func Render(ctx context.Context, root string) ([]byte, error) {
	content, err := os.ReadFile(filepath.Join(root, template.File))
	if err != nil {
		return nil, fmt.Errorf("read the catalog's template: %w", err)
	}
	releases, err := record.Load(root)
	if err != nil {
		return nil, err
	}
	return render.Catalog(ctx, content, Frozen(root, releases))
}

// Frozen finds released bundles by the digest of their image.
func Frozen(root string, releases *record.Record) render.Directories {
	return func(image string) (string, error) {
		for _, release := range releases.Releases {
			if release.BundleImage == image {
				return filepath.Join(root, project.BundleDir(release.Version)), nil
			}
		}
		return "", fmt.Errorf("%s names the bundle %s, but %s has no release with it", template.File, image, record.File)
	}
}

// Write brings the rendered catalog up to date and says whether it changed. An empty one is no file.
func Write(root string, catalog []byte) (changed bool, err error) {
	path := filepath.Join(root, File)
	fresh, err := isFresh(path, catalog)
	if fresh || err != nil {
		return false, err
	}
	if len(catalog) == 0 {
		if err := os.Remove(path); err != nil {
			return false, fmt.Errorf("remove the catalog, as nothing is released: %w", err)
		}
		return true, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return false, fmt.Errorf("make room for the catalog: %w", err)
	}
	if err := os.WriteFile(path, catalog, 0o644); err != nil {
		return false, fmt.Errorf("write the catalog: %w", err)
	}
	return true, nil
}

// Check returns an error when the rendered catalog of the checkout is not the given one.
func Check(root string, catalog []byte) error {
	fresh, err := isFresh(filepath.Join(root, File), catalog)
	if err != nil || fresh {
		return err
	}
	return fmt.Errorf("%s is not what %s and the released bundles give: run `go run ./hack/catalog`", File, template.File)
}

func isFresh(path string, catalog []byte) (bool, error) {
	have, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return len(catalog) == 0, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the rendered catalog: %w", err)
	}
	return len(catalog) > 0 && bytes.Equal(have, catalog), nil
}
