// Package recipe knows what goes into each image of the project: which Dockerfile, which files as its context. It
// returns canonical images; where they are kept or pushed is decided elsewhere.
package recipe

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/example/memcached-operator/hack/image/builder"
	"github.com/example/memcached-operator/hack/oci"
	"github.com/example/memcached-operator/hack/project"
)

// Names are the images of the project, in the order they depend on each other.
var Names = []string{"operator", "scorecard", "bundle", "catalog"}

// Kitchen is where images are made.
type Kitchen struct {
	// Root is the checkout whose source and Dockerfiles are used.
	Root string
	// Builder runs the Dockerfiles.
	Builder builder.Builder
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
func (k Kitchen) Program(ctx context.Context, b Binary, version string) (v1.Image, error) {
	dir, err := os.MkdirTemp("", "memcached-operator-context-")
	if err != nil {
		return nil, fmt.Errorf("make room for the build context: %w", err)
	}
	defer os.RemoveAll(dir) // Below the system's temporary directory, which is swept anyway.
	compile := k.Compile
	if compile == nil {
		compile = oci.Compile
	}
	if err := compile(ctx, k.Root, b.Package, filepath.Join(dir, b.Output), version); err != nil {
		return nil, err
	}
	return k.build(ctx, b.Dockerfile, dir, map[string]string{"VERSION": version})
}

// Bundle builds the image of the bundle directory dir.
func (k Kitchen) Bundle(ctx context.Context, dir string) (v1.Image, error) {
	return k.build(ctx, "bundle.Dockerfile", dir, nil)
}

// Catalog builds the image of the catalog directory dir, which holds one directory for each package.
func (k Kitchen) Catalog(ctx context.Context, dir string) (v1.Image, error) {
	return k.build(ctx, "catalog.Dockerfile", dir, nil)
}

func (k Kitchen) build(ctx context.Context, dockerfile, context string, args map[string]string) (v1.Image, error) {
	image, err := k.Builder.Build(ctx, builder.Request{
		Dockerfile: filepath.Join(k.Root, dockerfile), Context: context, Args: args,
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
