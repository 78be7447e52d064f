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

// Rebuild returns the image of a program (operator or scorecard) of a release, which must have the digest of the recorded
// reference. It keeps the image on this machine. If it is not there yet, the tools of the release's commit build it, so
// that it does not depend on how images are built today.
//
// `go run ./hack/image build NAME --version V --tag T` and the store where it leaves the image are therefore an interface
// between releases. Commits of releases offer it, so it must stay.
func Rebuild(ctx context.Context, root string, release record.Release, name, reference string) (v1.Image, error) {
	store, err := oci.DefaultStore()
	if err != nil {
		return nil, err
	}
	image, err := store.Get(reference)
	if err != nil {
		return nil, err
	}
	if image != nil && checkDigest(image, reference) == nil {
		return image, nil
	}
	if err := buildCommit(ctx, root, release, name, reference); err != nil {
		return nil, err
	}
	if image, err = store.Get(reference); err != nil {
		return nil, err
	}
	if image == nil {
		return nil, fmt.Errorf("commit %s of v%s built the %s image, but did not leave it where it is expected", release.Commit, release.Version, name)
	}
	if err := checkDigest(image, reference); err != nil {
		return nil, fmt.Errorf("the %s image of v%s, rebuilt from commit %s with %s, is not the released one: %w "+
			"(it was released with %s; is the toolchain patched, or GOFLAGS set?)",
			name, release.Version, release.Commit, runtime.Version(), err, release.Go)
	}
	return image, nil
}

// checkDigest compares an image with a reference by digest.
func checkDigest(image v1.Image, reference string) error {
	digest, err := image.Digest()
	if err != nil {
		return fmt.Errorf("compute the digest: %w", err)
	}
	if _, want, _ := strings.Cut(reference, "@"); digest.String() != want {
		return fmt.Errorf("its digest is %s, not %s", digest, want)
	}
	return nil
}

// buildCommit builds the image with the tools of the release's commit.
func buildCommit(ctx context.Context, root string, release record.Release, name, tag string) error {
	dir, err := os.MkdirTemp("", "memcached-operator-v"+release.Version+"-")
	if err != nil {
		return fmt.Errorf("create a directory for the source of v%s: %w", release.Version, err)
	}
	defer os.RemoveAll(dir)
	if err := checkout.Export(ctx, root, release.Commit, dir); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "run", "./hack/image", "build", name, "--version", release.Version, "--tag", tag)
	cmd.Dir = dir
	// As the image itself is compiled, so that it shares with the tool what both need.
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath")
	if release.Go != runtime.Version() {
		cmd.Env = append(cmd.Env, "GOTOOLCHAIN="+release.Go) // The go command downloads it if necessary.
	}
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the %s image of v%s from commit %s: %w\n%s",
			name, release.Version, release.Commit, err, bytes.TrimSpace(output))
	}
	return nil
}
