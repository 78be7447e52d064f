package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/example/memcached-operator/hack/internal/build"
	"github.com/example/memcached-operator/hack/internal/checkout"
	"github.com/example/memcached-operator/hack/project"
	"github.com/example/memcached-operator/hack/release/making"
)

func makeCommand() *cobra.Command {
	var channels, engine string
	cmd := &cobra.Command{
		Use:   "make VERSION",
		Short: "Release the version under development: pin its images, freeze its bundle, add it to the catalog",
		Long: `Release the version under development from the current commit. The checkout must not have other changes.

This builds the images, pins their digests in the bundle, freezes the bundle, adds it to the catalog and records the
release in catalog/releases.yaml. It pushes and commits nothing: commit the changes, then publish the release with
"release stage --registry quay.io".`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			root, err := checkout.Root()
			if err != nil {
				return err
			}
			plan, err := making.Check(cmd.Context(), root, args[0], strings.Split(channels, ","))
			if err != nil {
				return err
			}
			engine, err := build.Detect(cmd.Context(), engine)
			if err != nil {
				return err
			}
			cmd.PrintErrf("releasing v%s from commit %s, building with %s\n", plan.Version, plan.Head.Commit, engine.Name())
			release, err := plan.Make(cmd.Context(), build.Builder{Root: root, Engine: engine})
			if err != nil {
				return err
			}
			cmd.Println("operator ", release.OperatorImage)
			cmd.Println("scorecard", release.ScorecardImage)
			cmd.Println("bundle   ", release.BundleImage)
			cmd.Println("Now commit bundles/ and catalog/. Then raise Version in hack/project/project.go for the next change.")
			return nil
		},
	}
	cmd.Flags().StringVar(&channels, "channels", project.Channels, "channels that get the release, comma separated")
	cmd.Flags().StringVar(&engine, "builder", "", "docker, podman or buildah (default: the first that works)")
	return cmd
}

func verifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "verify",
		Short: "Check that every released bundle is unchanged, and that the catalog has each exactly once",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := checkout.Root()
			if err != nil {
				return err
			}
			versions, err := making.Verify(root)
			if err != nil {
				return err
			}
			if len(versions) == 0 {
				cmd.Println("nothing is released yet")
				return nil
			}
			cmd.Println("unchanged and in the catalog:", strings.Join(versions, ", "))
			return nil
		},
	}
}
