// Package rebuild builds the program images of a release again from the commit that it was made from, and accepts
// nothing but the recorded digests. The commit's own tools do the work, so that what a release is does not depend on
// how images are built today.
//
// For that reason `go run ./hack/image build NAME --version V --tag T`, and the store where it leaves the image, are
// an interface between releases: old commits offer them, and new ones must go on doing so.
package stage

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/example/memcached-operator/hack/internal/checkout"
	"github.com/example/memcached-operator/hack/internal/record"
	"github.com/example/memcached-operator/hack/oci"
)

// Rebuild returns the image of the given name (operator or scorecard) of a release, whose recorded reference by digest
// is given. It is kept after the first time. The source comes from the repository of the checkout at root.
func Rebuild(ctx context.Context, root string, release record.Release, name, reference string) (v1.Image, error) {
	kept, err := oci.DefaultStore()
	if err != nil {
		return nil, err
	}
	image, err := kept.Get(reference)
	if err != nil {
		return nil, err
	}
	if image != nil && matches(image, reference) == nil {
		return image, nil
	}
	if err := buildCommit(ctx, root, release, name, reference); err != nil {
		return nil, err
	}
	if image, err = kept.Get(reference); err != nil {
		return nil, err
	}
	if image == nil {
		return nil, fmt.Errorf("commit %s of v%s built the %s image, but did not leave it where it is looked for", release.Commit, release.Version, name)
	}
	if err := matches(image, reference); err != nil {
		return nil, fmt.Errorf("the %s image of v%s, built again from commit %s with %s, is not the released one: %w "+
			"(it was released with %s; is the toolchain a patched one, or GOFLAGS set?)",
			name, release.Version, release.Commit, runtime.Version(), err, release.Go)
	}
	return image, nil
}

// matches compares an image with a reference by digest.
func matches(image v1.Image, reference string) error {
	digest, err := image.Digest()
	if err != nil {
		return fmt.Errorf("compute the digest: %w", err)
	}
	if _, want, _ := strings.Cut(reference, "@"); digest.String() != want {
		return fmt.Errorf("its digest is %s, not %s", digest, want)
	}
	return nil
}

func buildCommit(ctx context.Context, root string, release record.Release, name, tag string) error {
	dir, err := os.MkdirTemp("", "memcached-operator-v"+release.Version+"-")
	if err != nil {
		return fmt.Errorf("make room for the source of v%s: %w", release.Version, err)
	}
	defer os.RemoveAll(dir) // Below the system's temporary directory, which is swept anyway.
	if err := checkout.Export(ctx, root, release.Commit, dir); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "run", "./hack/image", "build", name, "--version", release.Version, "--tag", tag)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=")
	if release.Go != runtime.Version() {
		cmd.Env = append(cmd.Env, "GOTOOLCHAIN="+release.Go) // The go command fetches it if need be.
	}
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build the %s image of v%s from commit %s: %w\n%s",
			name, release.Version, release.Commit, err, strings.TrimSpace(output.String()))
	}
	return nil
}
