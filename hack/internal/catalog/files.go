package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/example/memcached-operator/hack/internal/checkout"
	"github.com/example/memcached-operator/hack/internal/record"
	"github.com/example/memcached-operator/hack/project"
)

const (
	// File is the rendered catalog, relative to the root of the checkout.
	File = "catalog/" + project.Package + "/catalog.yaml"
	// PageFile is the page about its upgrade graph. It is outside the directory that is served.
	PageFile = "catalog/README.md"
)

// RenderCheckout renders the template of the checkout at root with the bundles of the recorded releases.
func RenderCheckout(ctx context.Context, root string) ([]byte, error) {
	template, err := os.ReadFile(filepath.Join(root, TemplateFile))
	if err != nil {
		return nil, fmt.Errorf("read the template of the catalog: %w", err)
	}
	releases, err := record.Load(root)
	if err != nil {
		return nil, err
	}
	return Render(ctx, template, Released(root, releases))
}

// Released finds the directories of released bundles.
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

// Write updates the rendered catalog and the page about it, and returns the names of the files that it changed. It removes
// the file of an empty catalog.
func Write(root string, catalog []byte) ([]string, error) {
	want, have, err := compare(root, catalog)
	if err != nil {
		return nil, err
	}
	return want.WriteOver(root, have)
}

// Check returns an error if Write would change a file. It names each.
func Check(root string, catalog []byte) error {
	want, have, err := compare(root, catalog)
	if err != nil {
		return err
	}
	if stale := want.Differences(have); len(stale) > 0 {
		return fmt.Errorf("not what %s and the released bundles give: %s: run `go run ./hack/catalog`", TemplateFile, strings.Join(stale, ", "))
	}
	return nil
}

// compare returns the files of a rendered catalog, and those in the checkout at root.
func compare(root string, catalog []byte) (want, have checkout.Files, err error) {
	page, err := Page(catalog)
	if err != nil {
		return nil, nil, err
	}
	want, have = checkout.Files{PageFile: page}, checkout.Files{}
	if len(catalog) > 0 {
		want[File] = catalog
	}
	for _, name := range []string{File, PageFile} {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err == nil {
			have[name] = content
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, fmt.Errorf("read the rendered catalog: %w", err)
		}
	}
	return want, have, nil
}
