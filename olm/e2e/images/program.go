package images

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/example/memcached-operator/hack/oci"
)

const (
	// source is the folder of the programs, relative to the root of the checkout.
	source = "./olm/e2e/"
	// user is a number, because Kubernetes does not know whether a named user is root.
	user = "65532:65532"
	port = "8080/tcp"
)

// PushProgram builds an image with a program of olm/e2e from the checkout at root, in the file at path, pushes it under a reference by
// tag, and returns the reference by digest.
func PushProgram(ctx context.Context, root, program, path, reference string) (string, error) {
	image, err := build(ctx, root, program, path)
	if err != nil {
		return "", err
	}
	return oci.Push(ctx, reference, image)
}

// build compiles a program from the checkout at root and returns its image. The same source gives the same digest.
func build(ctx context.Context, root, program, path string) (v1.Image, error) {
	dir, err := os.MkdirTemp("", "memcached-operator-"+program+"-")
	if err != nil {
		return nil, fmt.Errorf("create a directory for %s: %w", program, err)
	}
	defer os.RemoveAll(dir) // It is in the system's temporary directory, so an error does not matter.
	binary := filepath.Join(dir, program)
	if err := oci.Compile(ctx, root, source+program, binary, "test"); err != nil {
		return nil, err
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("read the compiled %s: %w", program, err)
	}
	return assemble(path, content)
}

// assemble returns an image of one executable.
func assemble(path string, content []byte) (v1.Image, error) {
	image, err := WithFile(empty.Image, path, 0o755, content)
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	file = file.DeepCopy()
	file.OS, file.Architecture = "linux", "amd64" // What oci.Compile compiles for.
	file.Config = v1.Config{User: user, Entrypoint: []string{"/" + path}, ExposedPorts: map[string]struct{}{port: {}}}
	if image, err = mutate.ConfigFile(image, file); err != nil {
		return nil, fmt.Errorf("set the configuration: %w", err)
	}
	return oci.Canonical(image)
}
