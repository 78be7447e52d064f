// Package served knows the catalog in the checkout: which files it consists of, and whether the rendered one is what
// the template and the released bundles give.
package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/example/memcached-operator/hack/internal/record"
	"github.com/example/memcached-operator/hack/project"
)

const (
	// File is the rendered catalog, relative to the root of the checkout.
	File = "catalog/" + project.Package + "/catalog.yaml"
	// PageFile is the page that shows its upgrade graph. It is beside the directory that is served, not in it.
	PageFile = "catalog/README.md"
)

// RenderCheckout renders the template of the checkout at root with the bundles that the record names.
func RenderCheckout(ctx context.Context, root string) ([]byte, error) {
	content, err := os.ReadFile(filepath.Join(root, TemplateFile))
	if err != nil {
		return nil, fmt.Errorf("read the catalog's template: %w", err)
	}
	releases, err := record.Load(root)
	if err != nil {
		return nil, err
	}
	return Render(ctx, content, Released(root, releases))
}

// Released finds released bundles by the digest of their image.
func Released(root string, releases *record.Record) Directories {
	return func(image string) (string, error) {
		for _, release := range releases.Releases {
			if release.BundleImage == image {
				return filepath.Join(root, project.BundleDir(release.Version)), nil
			}
		}
		return "", fmt.Errorf("%s names the bundle %s, but %s has no release with it", TemplateFile, image, record.File)
	}
}

// Write brings the rendered catalog and the page about it up to date and returns the names of what it wrote. An empty
// catalog is no file.
func Write(root string, catalog []byte) (written []string, err error) {
	files, err := contents(catalog)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		path := filepath.Join(root, file.name)
		fresh, err := isFresh(path, file.content)
		if err != nil {
			return written, err
		}
		if fresh {
			continue
		}
		if err := write(path, file.content); err != nil {
			return written, err
		}
		written = append(written, file.name)
	}
	return written, nil
}

func write(path string, content []byte) error {
	if len(content) == 0 {
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("remove the catalog, as nothing is released: %w", err)
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make room for the catalog: %w", err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		return fmt.Errorf("write the catalog: %w", err)
	}
	return nil
}

// Check returns an error when the rendered catalog of the checkout is not the given one, or the page about it is not
// what that gives. It names each that is not.
func Check(root string, catalog []byte) error {
	files, err := contents(catalog)
	if err != nil {
		return err
	}
	var wrong []error
	for _, file := range files {
		fresh, err := isFresh(filepath.Join(root, file.name), file.content)
		if err == nil && !fresh {
			err = fmt.Errorf("%s is not what %s and the released bundles give: run `go run ./hack/catalog`", file.name, TemplateFile)
		}
		wrong = append(wrong, err)
	}
	return errors.Join(wrong...)
}

// file is a file that follows from the rendered catalog, named relative to the root of the checkout.
type file struct {
	name    string
	content []byte
}

func contents(catalog []byte) ([]file, error) {
	page, err := Page(catalog)
	if err != nil {
		return nil, err
	}
	return []file{{File, catalog}, {PageFile, page}}, nil
}

// isFresh says whether the file has the content; there is none for an empty one.
func isFresh(path string, content []byte) (bool, error) {
	have, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return len(content) == 0, nil
	}
	if err != nil {
		return false, fmt.Errorf("read what was rendered before: %w", err)
	}
	return len(content) > 0 && bytes.Equal(have, content), nil
}
