// Command image builds and pushes the project's images, and checks that their builds are reproducible.
package main

import (
	"fmt"
	"os"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"

	"github.com/example/memcached-operator/hack/internal/build"
	"github.com/example/memcached-operator/hack/internal/checkout"
	"github.com/example/memcached-operator/hack/oci"
	"github.com/example/memcached-operator/hack/project"
)

func main() {
	if command().ExecuteContext(signals.SetupSignalHandler()) != nil {
		os.Exit(1)
	}
}

// options are the flags of all subcommands.
type options struct{ version, engine string }

func command() *cobra.Command {
	var o options
	cmd := &cobra.Command{Use: "image", Short: "Build and push the project's images", SilenceUsage: true}
	cmd.PersistentFlags().StringVar(&o.version, "version", project.Version, "version to build, without a leading v")
	cmd.PersistentFlags().StringVar(&o.engine, "builder", "", "docker, podman or buildah (default: the first that works)")
	cmd.SetOut(os.Stdout)
	cmd.SetErrPrefix("image:")
	cmd.AddCommand(buildCommand(&o), pushCommand(), reproCommand(&o))
	return cmd
}

// newBuilder returns a builder for the images of the checkout, and prints its engine.
func (o options) newBuilder(cmd *cobra.Command) (build.Builder, error) {
	root, err := checkout.Root()
	if err != nil {
		return build.Builder{}, err
	}
	engine, err := build.Detect(cmd.Context(), o.engine)
	if err != nil {
		return build.Builder{}, err
	}
	cmd.PrintErrln("building with", engine.Name())
	return build.Builder{Root: root, Engine: engine}, nil
}

func buildCommand(o *options) *cobra.Command {
	var tag string
	cmd := &cobra.Command{
		Use:       "build IMAGE",
		Short:     "Build one image (" + strings.Join(build.Names, ", ") + ") and keep it on this machine",
		Args:      cobra.ExactArgs(1),
		ValidArgs: build.Names,
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := oci.DefaultStore()
			if err != nil {
				return err
			}
			builder, err := o.newBuilder(cmd)
			if err != nil {
				return err
			}
			image, err := builder.Image(cmd.Context(), args[0], o.version)
			if err != nil {
				return err
			}
			if tag == "" {
				tag = project.Tagged(build.Repository(args[0]), o.version)
			}
			if err := store.Put(tag, image); err != nil {
				return err
			}
			digest, err := image.Digest()
			if err != nil {
				return fmt.Errorf("compute the digest: %w", err)
			}
			cmd.Println(tag, digest)
			return nil
		},
	}
	cmd.Flags().StringVar(&tag, "tag", "", "name of the image, for push (default: the official repository and v<version>)")
	return cmd
}

func pushCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "push REFERENCE",
		Short: "Push an image that was built with this --tag, and print its reference by digest",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := oci.DefaultStore()
			if err != nil {
				return err
			}
			image, err := store.Get(args[0])
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
				return fmt.Errorf("create a directory for a copy of the checkout: %w", err)
			}
			defer os.RemoveAll(dir)
			if err := checkout.Copy(cmd.Context(), here.Root, dir); err != nil {
				return err
			}
			for _, name := range here.Available() {
				if err := compare(cmd, here, build.Builder{Root: dir, Engine: here.Engine}, name, o.version); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func compare(cmd *cobra.Command, here, there build.Builder, name, version string) error {
	var digests [2]v1.Hash
	for i, builder := range []build.Builder{here, there} {
		image, err := builder.Image(cmd.Context(), name, version)
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
