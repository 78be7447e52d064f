// Package recipe knows what goes into each image of the project: which Dockerfile, which files as its context. It
// returns canonical images; where they are kept or pushed is decided elsewhere.
package build

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/example/memcached-operator/hack/oci"
	"github.com/example/memcached-operator/hack/project"
)

// Names are the images of the project, in the order they depend on each other.
var Names = []string{"operator", "scorecard", "bundle", "catalog"}

// Builder is where images are made.
type Builder struct {
	// Root is the checkout whose source and Dockerfiles are used.
	Root string
	// Engine runs the Dockerfiles.
	Engine Engine
	// Compile writes the program of a package, relative to root, to output; nil stands for Compile of this package.
	Compile func(ctx context.Context, root, pkg, output, version string) error
}

// Binary is an image of one Go program.
type Binary struct {
	// Package is what to compile, relative to the root, and Output the name the Dockerfile expects it under.
	Package, Output string
	// Dockerfile is relative to the root.
	Dockerfile string
}

// Operator and Scorecard are the images that hold a program.
var (
	Operator  = Binary{Package: "./operator", Output: "manager", Dockerfile: "Dockerfile"}
	Scorecard = Binary{Package: "./olm/scorecard", Output: "scorecard", Dockerfile: "olm/scorecard/Dockerfile"}
)

// Program compiles a program of the checkout and builds its image.
func (b Builder) Program(ctx context.Context, program Binary, version string) (v1.Image, error) {
	dir, err := os.MkdirTemp("", "memcached-operator-context-")
	if err != nil {
		return nil, fmt.Errorf("make room for the build context: %w", err)
	}
	defer os.RemoveAll(dir) // Below the system's temporary directory, which is swept anyway.
	compile := b.Compile
	if compile == nil {
		compile = oci.Compile
	}
	if err := compile(ctx, b.Root, program.Package, filepath.Join(dir, program.Output), version); err != nil {
		return nil, err
	}
	return b.build(ctx, program.Dockerfile, dir, map[string]string{"VERSION": version})
}

// Bundle builds the image of the bundle directory dir.
func (b Builder) Bundle(ctx context.Context, dir string) (v1.Image, error) {
	return b.build(ctx, "bundle.Dockerfile", dir, nil)
}

// Catalog builds the image of the catalog directory dir, which holds one directory for each package.
func (b Builder) Catalog(ctx context.Context, dir string) (v1.Image, error) {
	return b.build(ctx, "catalog.Dockerfile", dir, nil)
}

func (b Builder) build(ctx context.Context, dockerfile, context string, args map[string]string) (v1.Image, error) {
	image, err := b.Engine.Build(ctx, Request{
		Dockerfile: filepath.Join(b.Root, dockerfile), Context: context, Args: args,
	})
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", dockerfile, err)
	}
	image, err = oci.Canonical(image)
	if err != nil {
		return nil, fmt.Errorf("make the image of %s reproducible: %w", dockerfile, err)
	}
	return image, nil
}

// Repository is where the named image is published.
func Repository(name string) string {
	return map[string]string{
		"operator": project.OperatorImage, "scorecard": project.ScorecardImage,
		"bundle": project.BundleImage, "catalog": project.CatalogImage,
	}[name]
}
