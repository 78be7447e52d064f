// Package build builds the images of the project from their Dockerfiles, with docker, podman or buildah. It knows the
// Dockerfile and the build context of each image, and returns canonical images. Package oci keeps and pushes them.
package build

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/example/memcached-operator/hack/oci"
	"github.com/example/memcached-operator/hack/project"
)

// Names are the images of the project. Each depends only on the ones before it.
var Names = []string{"operator", "scorecard", "bundle", "catalog"}

// Builder builds the images of a checkout.
type Builder struct {
	// Root is the root of the checkout.
	Root string
	// Engine runs the Dockerfiles.
	Engine Engine
	// Compile compiles the program of a package, relative to root, with build tags, to the file output. If it is nil, oci.Compile does.
	Compile func(ctx context.Context, root, pkg, output, version string, tags ...string) error
}

// program is an executable file of an image.
type program struct {
	pkg  string   // Relative to the root of the checkout.
	file string   // The name under which the Dockerfile copies it.
	tags []string // Build tags.
}

// Image builds the image of that name and version.
func (b Builder) Image(ctx context.Context, name, version string) (v1.Image, error) {
	switch name {
	case "operator":
		return b.programs(ctx, "Dockerfile", version, program{pkg: "./operator", file: "manager"},
			program{pkg: "./operator/agent/main", file: "agent", tags: []string{project.AgentTag}})
	case "scorecard":
		return b.programs(ctx, "olm/scorecard/Dockerfile", version, program{pkg: "./olm/scorecard", file: "scorecard"})
	case "bundle":
		return b.Bundle(ctx, filepath.Join(b.Root, project.BundleDir(version)))
	case "catalog":
		return b.Catalog(ctx, filepath.Join(b.Root, "catalog"))
	}
	return nil, fmt.Errorf("there is no image called %q: choose one of %s", name, strings.Join(Names, ", "))
}

// programs compiles programs and builds the image that has them.
func (b Builder) programs(ctx context.Context, dockerfile, version string, all ...program) (v1.Image, error) {
	dir, err := os.MkdirTemp("", "memcached-operator-context-")
	if err != nil {
		return nil, fmt.Errorf("create the build context: %w", err)
	}
	defer os.RemoveAll(dir)
	compile := b.Compile
	if compile == nil {
		compile = oci.Compile
	}
	for _, p := range all {
		if err := compile(ctx, b.Root, p.pkg, filepath.Join(dir, p.file), version, p.tags...); err != nil {
			return nil, err
		}
	}
	return b.build(ctx, dockerfile, dir, map[string]string{"VERSION": version})
}

// Bundle builds the image of the bundle in dir.
func (b Builder) Bundle(ctx context.Context, dir string) (v1.Image, error) {
	return b.build(ctx, "bundle.Dockerfile", dir, nil)
}

// Catalog builds the image of the catalog in dir, which has a directory for each package.
func (b Builder) Catalog(ctx context.Context, dir string) (v1.Image, error) {
	return b.build(ctx, "catalog.Dockerfile", dir, nil)
}

func (b Builder) build(ctx context.Context, dockerfile, context string, args map[string]string) (v1.Image, error) {
	image, err := b.Engine.Build(ctx, Request{Dockerfile: filepath.Join(b.Root, dockerfile), Context: context, Args: args})
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", dockerfile, err)
	}
	if image, err = oci.Canonical(image); err != nil {
		return nil, fmt.Errorf("make the image of %s reproducible: %w", dockerfile, err)
	}
	return image, nil
}

// Available returns the names of the images that can be built from the checkout: without the catalog if nothing is released.
func (b Builder) Available() []string {
	return slices.DeleteFunc(slices.Clone(Names), func(name string) bool {
		_, err := os.Stat(filepath.Join(b.Root, "catalog", project.Package))
		return name == "catalog" && err != nil
	})
}

// Repository returns the official repository of the image of that name.
func Repository(name string) string {
	return map[string]string{
		"operator": project.OperatorImage, "scorecard": project.ScorecardImage,
		"bundle": project.BundleImage, "catalog": project.CatalogImage,
	}[name]
}
