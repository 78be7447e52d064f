// Command image builds the project's images, keeps them, pushes them, and proves that building them again gives the
// same digests. It is a thin shell over the packages below it. Run it from anywhere inside the checkout:
// go run ./hack/image --help.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/cobra"

	"github.com/example/memcached-operator/hack/internal/build"
	"github.com/example/memcached-operator/hack/internal/checkout"
	"github.com/example/memcached-operator/hack/oci"
	"github.com/example/memcached-operator/hack/project"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// options are what all verbs have in common.
type options struct{ version, engine string }

func command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use: "image", Short: "Build and push the project's images", SilenceUsage: true, SilenceErrors: true,
	}
	cmd.PersistentFlags().StringVar(&o.version, "version", project.Version, "version to build, without a leading v")
	cmd.PersistentFlags().StringVar(&o.engine, "builder", "", "docker, podman or buildah (default: the first that works)")
	cmd.SetOut(os.Stdout) // Results; progress and errors go to standard error.
	cmd.AddCommand(buildCommand(&o), pushCommand(), reproCommand(&o))
	return cmd
}

// newBuilder is ready to build the checkout's images. It says on stderr which builder it uses.
func (o options) newBuilder(cmd *cobra.Command) (build.Builder, error) {
	root, err := checkout.Root()
	if err != nil {
		return build.Builder{}, err
	}
	b, err := build.Detect(cmd.Context(), o.engine)
	if err != nil {
		return build.Builder{}, err
	}
	cmd.PrintErrln("building with", b.Name())
	return build.Builder{Root: root, Engine: b}, nil
}

func buildCommand(o *options) *cobra.Command {
	var tag string
	cmd := &cobra.Command{
		Use:   "build IMAGE",
		Short: "Build one image (" + strings.Join(build.Names, ", ") + ") and keep it on this machine",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(build.Names, args[0]) {
				return fmt.Errorf("there is no image called %q: choose one of %s", args[0], strings.Join(build.Names, ", "))
			}
			kept, err := oci.DefaultStore()
			if err != nil {
				return err
			}
			builder, err := o.newBuilder(cmd)
			if err != nil {
				return err
			}
			image, err := cook(cmd.Context(), builder, args[0], o.version)
			if err != nil {
				return err
			}
			if tag == "" {
				tag = project.Tagged(build.Repository(args[0]), o.version)
			}
			if err := kept.Put(tag, image); err != nil {
				return err
			}
			return report(cmd, tag, image)
		},
	}
	cmd.Flags().StringVar(&tag, "tag", "", "name of the image, for push (default: the official repository and v<version>)")
	return cmd
}

func report(cmd *cobra.Command, tag string, image v1.Image) error {
	digest, err := image.Digest()
	if err != nil {
		return fmt.Errorf("compute the digest: %w", err)
	}
	cmd.Println(tag, digest)
	return nil
}

// cook builds the named image of the builder's checkout.
func cook(ctx context.Context, builder build.Builder, name, version string) (v1.Image, error) {
	switch name {
	case "operator":
		return builder.Program(ctx, build.Operator, version)
	case "scorecard":
		return builder.Program(ctx, build.Scorecard, version)
	case "bundle":
		return builder.Bundle(ctx, filepath.Join(builder.Root, project.BundleDir(version)))
	case "catalog":
		return builder.Catalog(ctx, filepath.Join(builder.Root, "catalog"))
	}
	return nil, fmt.Errorf("no recipe for the image %q", name)
}

func pushCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "push REFERENCE",
		Short: "Push an image that was built with this --tag, and print its reference by digest",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			kept, err := oci.DefaultStore()
			if err != nil {
				return err
			}
			image, err := kept.Get(args[0])
			if err != nil {
				return err
			}
			if image == nil {
				return fmt.Errorf("no image %s has been built: run `go run ./hack/image build NAME --tag %s` first", args[0], args[0])
			}
			pushed, err := oci.Push(cmd.Context(), args[0], image)
			if err != nil {
				return err
			}
			cmd.Println(pushed)
			return nil
		},
	}
}

func reproCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "repro",
		Short: "Build every image from two directories and compare the digests",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			here, err := o.newBuilder(cmd)
			if err != nil {
				return err
			}
			dir, err := os.MkdirTemp("", "memcached-operator-copy-")
			if err != nil {
				return fmt.Errorf("make room for a copy of the checkout: %w", err)
			}
			defer os.RemoveAll(dir) // Below the system's temporary directory, which is swept anyway.
			if err := checkout.Copy(cmd.Context(), here.Root, dir); err != nil {
				return err
			}
			there := build.Builder{Root: dir, Engine: here.Engine}
			for _, name := range buildable(here.Root) {
				if err := same(cmd, here, there, name, o.version); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// buildable leaves out the catalog while nothing is released that could be in it.
func buildable(root string) []string {
	names := slices.Clone(build.Names)
	if _, err := os.Stat(filepath.Join(root, "catalog", project.Package)); err != nil {
		names = slices.DeleteFunc(names, func(name string) bool { return name == "catalog" })
	}
	return names
}

func same(cmd *cobra.Command, here, there build.Builder, name, version string) error {
	var digests [2]v1.Hash
	for i, builder := range []build.Builder{here, there} {
		image, err := cook(cmd.Context(), builder, name, version)
		if err != nil {
			return err
		}
		if digests[i], err = image.Digest(); err != nil {
			return fmt.Errorf("compute the digest of the %s image: %w", name, err)
		}
	}
	if digests[0] != digests[1] {
		return fmt.Errorf("the %s image is not reproducible: %s from %s, %s from a copy of it", name, digests[0], here.Root, digests[1])
	}
	cmd.Println(name, digests[0], "from two directories")
	return nil
}
