// Package catalog edits the catalog's template, renders it to the file-based catalog that is served, and writes that and
// the page about its upgrade graph. It renders with the library of operator-registry. It reads bundles from directories and
// pulls no images, so a catalog can be rendered before an image is published.
package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
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

// Directories returns the directory with the content of a bundle image.
type Directories func(bundleImage string) (dir string, err error)

// Render renders the template and validates the result. It leaves out channels without entries, because nothing could be
// installed from them. A catalog without channels is empty.
func Render(ctx context.Context, template []byte, find Directories) ([]byte, error) {
	bundle := func(_ context.Context, image string) (*declcfg.DeclarativeConfig, error) {
		return renderBundle(image, find)
	}
	config, err := new(basic.Factory).CreateTemplate(bundle).Render(ctx, bytes.NewReader(template))
	if err != nil {
		return nil, fmt.Errorf("render the template of the catalog: %w", err)
	}
	config.Channels = slices.DeleteFunc(config.Channels, func(c declcfg.Channel) bool { return len(c.Entries) == 0 })
	if len(config.Channels) == 0 {
		return nil, nil
	}
	for i := range config.Packages {
		config.Packages[i].Icon = &declcfg.Icon{Data: csv.Icon(), MediaType: "image/svg+xml"}
	}
	if err := complete(config); err != nil {
		return nil, err
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

// complete adds what the catalog takes from its head, the release that users install: the description of the package. It
// leaves out deprecations of heads, because there is nothing to upgrade to: they are served when the next release is.
func complete(config *declcfg.DeclarativeConfig) error {
	upgrades, err := graph.Read(*config)
	if err != nil {
		return err
	}
	heads := map[string]bool{}
	for _, channel := range upgrades.Channels {
		head := channel.Highest().Name
		heads[head] = upgrades.Deprecated == "" // Otherwise there is never another release.
		if channel.Name != upgrades.DefaultChannel {
			continue
		}
		i := slices.IndexFunc(config.Bundles, func(b declcfg.Bundle) bool { return b.Name == head })
		var manifest operatorsv1alpha1.ClusterServiceVersion
		if err := json.Unmarshal([]byte(config.Bundles[i].CsvJSON), &manifest); err != nil {
			return fmt.Errorf("read the ClusterServiceVersion of %s: %w", head, err)
		}
		config.Packages[0].Description = manifest.Spec.Description
	}
	for i, list := range config.Deprecations {
		config.Deprecations[i].Entries = slices.DeleteFunc(list.Entries, func(entry declcfg.DeprecationEntry) bool {
			return entry.Reference.Schema == declcfg.SchemaBundle && heads[entry.Reference.Name]
		})
	}
	config.Deprecations = slices.DeleteFunc(config.Deprecations, func(list declcfg.Deprecation) bool { return len(list.Entries) == 0 })
	return nil
}

// Validate checks a rendered catalog as `opm validate` does, and lints its upgrade graph. The error names every problem.
func Validate(catalog []byte) error {
	config, err := declcfg.LoadReader(bytes.NewReader(catalog))
	if err != nil {
		return fmt.Errorf("read the catalog: %w", err)
	}
	return validate(*config)
}

func validate(config declcfg.DeclarativeConfig) error {
	errs := []error{lintGraph(config)}
	if _, err := declcfg.ConvertToModel(config); err != nil {
		errs = append(errs, fmt.Errorf("the catalog is not valid: %w", err))
	}
	for _, bundle := range config.Bundles {
		if !strings.Contains(bundle.Image, "@sha256:") {
			errs = append(errs, fmt.Errorf("the catalog is not valid: bundle %s is not referred to by digest but as %s", bundle.Name, bundle.Image))
		}
	}
	return errors.Join(errs...)
}

// lintGraph returns an error that lists every violation of a rule, with its fix.
func lintGraph(config declcfg.DeclarativeConfig) error {
	upgrades, err := graph.Read(config)
	if err != nil {
		return err
	}
	violations := upgrades.Lint()
	if len(violations) == 0 {
		return nil
	}
	var lines strings.Builder
	for _, violation := range violations {
		lines.WriteString("\n  - " + violation.String())
	}
	return fmt.Errorf("the upgrade graph breaks rules (correct it in the catalog's template):%s", lines.String())
}

// renderBundle describes a bundle image from its directory, as opm describes a pulled image.
func renderBundle(bundleImage string, find Directories) (*declcfg.DeclarativeConfig, error) {
	dir, err := find(bundleImage)
	if err != nil {
		return nil, err
	}
	// Otherwise the library logs every optional file that a bundle lacks.
	logrus.SetLevel(logrus.WarnLevel)
	input, err := registry.NewImageInput(image.SimpleReference(bundleImage), dir)
	if err != nil {
		return nil, fmt.Errorf("read the bundle in %s: %w", dir, err)
	}
	objects, properties, err := registry.ObjectsAndPropertiesFromBundle(input.Bundle)
	if err != nil {
		return nil, fmt.Errorf("describe the bundle in %s: %w", dir, err)
	}
	manifest, err := input.Bundle.ClusterServiceVersion()
	if err != nil {
		return nil, fmt.Errorf("read the ClusterServiceVersion in %s: %w", dir, err)
	}
	raw, err := json.Marshal(manifest)
	if err != nil {
		return nil, fmt.Errorf("encode the ClusterServiceVersion in %s: %w", dir, err)
	}
	related, err := relatedImages(manifest.Spec, bundleImage)
	if err != nil {
		return nil, fmt.Errorf("list the images of the bundle in %s: %w", dir, err)
	}
	return &declcfg.DeclarativeConfig{Bundles: []declcfg.Bundle{{
		Schema: declcfg.SchemaBundle, Name: input.Bundle.Name, Package: project.Package, Image: bundleImage,
		Properties: properties, RelatedImages: related, Objects: objects, CsvJSON: string(raw),
	}}}, nil
}

// relatedImages returns the images to mirror with the bundle: those of the ClusterServiceVersion and the bundle's own.
func relatedImages(spec []byte, bundleImage string) ([]declcfg.RelatedImage, error) {
	var v struct {
		RelatedImages []declcfg.RelatedImage `json:"relatedImages"`
	}
	if err := json.Unmarshal(spec, &v); err != nil {
		return nil, err
	}
	images := append(v.RelatedImages, declcfg.RelatedImage{Image: bundleImage})
	slices.SortFunc(images, func(a, b declcfg.RelatedImage) int { return strings.Compare(a.Image, b.Image) })
	return images, nil
}
