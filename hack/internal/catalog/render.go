// Package render turns the catalog's template into the file-based catalog that is served, with operator-registry's
// own library. Bundles are read from directories, never pulled, so a catalog can be rendered before any image is
// published.
package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/operator-registry/alpha/action/migrations"
	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/alpha/template/basic"
	"github.com/operator-framework/operator-registry/pkg/image"
	"github.com/operator-framework/operator-registry/pkg/registry"
	"github.com/sirupsen/logrus"

	"github.com/example/memcached-operator/hack/graph"
	"github.com/example/memcached-operator/hack/internal/csv"
	"github.com/example/memcached-operator/hack/project"
)

// Directories finds the directory that holds the content of a bundle image.
type Directories func(bundleImage string) (dir string, err error)

// Render renders the template and validates the result, its upgrade graph included. Channels without entries are left out, as nothing could be
// installed from them; a catalog without any is empty.
func Render(ctx context.Context, template []byte, find Directories) ([]byte, error) {
	bundle := func(_ context.Context, image string) (*declcfg.DeclarativeConfig, error) {
		return renderBundle(image, find)
	}
	config, err := new(basic.Factory).CreateTemplate(bundle).Render(ctx, bytes.NewReader(template))
	if err != nil {
		return nil, fmt.Errorf("render the catalog's template: %w", err)
	}
	config.Channels = slices.DeleteFunc(config.Channels, func(c declcfg.Channel) bool { return len(c.Entries) == 0 })
	if len(config.Channels) == 0 {
		return nil, nil
	}
	for i := range config.Packages {
		config.Packages[i].Icon = &declcfg.Icon{Data: csv.Icon(), MediaType: "image/svg+xml"}
		config.Packages[i].Description = "Runs Memcached caches: declare a size, get ready cache servers that are kept that way."
	}
	migrate, err := migrations.NewMigrations("bundle-object-to-csv-metadata")
	if err != nil {
		return nil, fmt.Errorf("prepare the catalog's migration: %w", err)
	}
	if err := migrate.Migrate(config); err != nil {
		return nil, fmt.Errorf("migrate the catalog: %w", err)
	}
	if err := validate(*config); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := declcfg.WriteYAML(*config, &out); err != nil {
		return nil, fmt.Errorf("write the catalog: %w", err)
	}
	return out.Bytes(), nil
}

// Validate checks a rendered catalog as `opm validate` does, and its upgrade graph against the rules of the package
// lint. The error names everything that is wrong.
func Validate(ctx context.Context, catalog []byte) error {
	config, err := declcfg.LoadReader(bytes.NewReader(catalog))
	if err != nil {
		return fmt.Errorf("read the catalog: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return validate(*config)
}

func validate(config declcfg.DeclarativeConfig) error {
	wrong := []error{lintGraph(config)}
	if _, err := declcfg.ConvertToModel(config); err != nil {
		wrong = append(wrong, fmt.Errorf("the catalog is not valid: %w", err))
	}
	for _, bundle := range config.Bundles {
		if !strings.Contains(bundle.Image, "@sha256:") {
			wrong = append(wrong, fmt.Errorf("the catalog is not valid: bundle %s is not referred to by digest but as %s", bundle.Name, bundle.Image))
		}
	}
	return errors.Join(wrong...)
}

// lintGraph returns an error that lists every rule that the graph breaks, and how to mend it.
func lintGraph(config declcfg.DeclarativeConfig) error {
	upgrades, err := graph.Read(config)
	if err != nil {
		return err
	}
	violations := upgrades.Lint()
	if len(violations) == 0 {
		return nil
	}
	lines := make([]string, len(violations))
	for i, violation := range violations {
		lines[i] = "\n  - " + violation.String()
	}
	return fmt.Errorf("the upgrade graph breaks rules (mend them in the catalog's template):%s", strings.Join(lines, ""))
}

// renderBundle describes a bundle image from its directory, as opm does from the pulled image.
func renderBundle(bundleImage string, find Directories) (*declcfg.DeclarativeConfig, error) {
	dir, err := find(bundleImage)
	if err != nil {
		return nil, err
	}
	// The library tells of every optional file that a bundle does without.
	logrus.SetLevel(logrus.WarnLevel)
	input, err := registry.NewImageInput(image.SimpleReference(bundleImage), dir)
	if err != nil {
		return nil, fmt.Errorf("read the bundle in %s: %w", dir, err)
	}
	objects, properties, err := registry.ObjectsAndPropertiesFromBundle(input.Bundle)
	if err != nil {
		return nil, fmt.Errorf("describe the bundle in %s: %w", dir, err)
	}
	raw, err := clusterServiceVersion(input.Bundle)
	if err != nil {
		return nil, fmt.Errorf("read the ClusterServiceVersion in %s: %w", dir, err)
	}
	related, err := relatedImages(raw, bundleImage)
	if err != nil {
		return nil, fmt.Errorf("list the images of the bundle in %s: %w", dir, err)
	}
	return &declcfg.DeclarativeConfig{Bundles: []declcfg.Bundle{{
		Schema: declcfg.SchemaBundle, Name: input.Bundle.Name, Package: project.Package, Image: bundleImage,
		Properties: properties, RelatedImages: related, Objects: objects, CsvJSON: string(raw),
	}}}, nil
}

func clusterServiceVersion(bundle *registry.Bundle) ([]byte, error) {
	for _, object := range bundle.Objects {
		if object.GetKind() == "ClusterServiceVersion" {
			return json.Marshal(object)
		}
	}
	return nil, errors.New("there is none")
}

// relatedImages are the images that somebody who mirrors the bundle needs: the ClusterServiceVersion lists all but
// the bundle's own.
func relatedImages(clusterServiceVersion []byte, bundleImage string) ([]declcfg.RelatedImage, error) {
	var v struct {
		Spec struct {
			RelatedImages []declcfg.RelatedImage `json:"relatedImages"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(clusterServiceVersion, &v); err != nil {
		return nil, err
	}
	images := append(v.Spec.RelatedImages, declcfg.RelatedImage{Image: bundleImage})
	slices.SortFunc(images, func(a, b declcfg.RelatedImage) int { return strings.Compare(a.Image, b.Image) })
	return images, nil
}
