package build

import (
	"context"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// container is docker or podman, which have the same command line.
type container struct{ program string }

func (c container) Name() string { return c.program }

// Works asks the engine and not the client, because a docker client is often installed without an engine.
func (c container) Works(ctx context.Context) error { return run(ctx, c.program, "info") }

func (c container) Build(ctx context.Context, request Request) (v1.Image, error) {
	return readArchive(func(dir, archive string) error {
		// The name of the temporary directory makes the tag unique, so that rmi does not remove another image.
		tag := "localhost/memcached-operator-build:" + filepath.Base(dir)
		if err := run(ctx, c.program, append([]string{"build"}, buildArgs(request, tag)...)...); err != nil {
			return err
		}
		saved := run(ctx, c.program, "save", "--output", archive, tag)
		if err := run(ctx, c.program, "rmi", tag); err != nil && saved == nil {
			return err
		}
		return saved
	})
}

// buildah needs no daemon. Each build has a storage of its own, in the temporary directory.
type buildah struct{}

func (buildah) Name() string { return "buildah" }

func (buildah) Works(ctx context.Context) error { return run(ctx, "buildah", "version") }

func (buildah) Build(ctx context.Context, request Request) (v1.Image, error) {
	return readArchive(func(dir, archive string) error {
		// vfs works on every file system and without privileges. It copies layers, which is cheap for a few files.
		storage := []string{"--root", filepath.Join(dir, "root"), "--runroot", filepath.Join(dir, "run"), "--storage-driver", "vfs"}
		const tag = "localhost/image:built"
		build := slices.Concat(storage, []string{"build", "--isolation", "chroot"}, buildArgs(request, tag))
		if err := run(ctx, "buildah", build...); err != nil {
			return err
		}
		return run(ctx, "buildah", slices.Concat(storage, []string{"push", tag, "docker-archive:" + archive + ":" + tag})...)
	})
}
