package build

import (
	"bytes"
	"context"
	"io"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// container is docker or podman, whose command lines are the same as far as we use them.
type container struct{ program string }

func (e container) Name() string { return e.program }

// Works asks for the engine, not for the client: a docker client without an container is a common half-installation.
func (e container) Works(ctx context.Context) error { return run(ctx, e.program, "info") }

func (e container) Build(ctx context.Context, request Request) (v1.Image, error) {
	return inScratch(func(dir, archive string) error {
		// The temporary directory's name makes the tag ours alone, so removing it takes nobody else's image away.
		tag := "localhost/memcached-operator-build:" + filepath.Base(dir)
		if err := run(ctx, e.program, append([]string{"build"}, buildArgs(request, tag)...)...); err != nil {
			return err
		}
		saved := run(ctx, e.program, "save", "--output", archive, tag)
		if err := run(ctx, e.program, "rmi", tag); err != nil && saved == nil {
			return err
		}
		return saved
	})
}

// buildah needs no engine. It works in a storage of its own, which goes away with the build.
type buildah struct{}

func (buildah) Name() string { return "buildah" }

func (buildah) Works(ctx context.Context) error { return run(ctx, "buildah", "version") }

func (buildah) Build(ctx context.Context, request Request) (v1.Image, error) {
	return inScratch(func(dir, archive string) error {
		// vfs works on every file system and without any privilege; copying is cheap for images of a few files.
		storage := []string{
			"--root", filepath.Join(dir, "root"), "--runroot", filepath.Join(dir, "run"), "--storage-driver", "vfs",
		}
		const tag = "localhost/image:built"
		build := append(append([]string{}, storage...), "build", "--isolation", "chroot")
		if err := run(ctx, "buildah", append(build, buildArgs(request, tag)...)...); err != nil {
			return err
		}
		push := append(append([]string{}, storage...), "push", tag, "docker-archive:"+archive+":"+tag)
		return run(ctx, "buildah", push...)
	})
}

// opener lets the image be read as often as needed.
func opener(content []byte) tarball.Opener {
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
}
