// Command bundle composes the OLM bundle of the version under development from the operator's source, validates
// bundles, checks that their CRDs are compatible, and renders them to plain manifests for clusters without OLM.
package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/example/memcached-operator/hack/internal/bundle"
	"github.com/example/memcached-operator/hack/internal/checkout"
	"github.com/example/memcached-operator/hack/project"
)

func main() {
	if command().Execute() != nil {
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var version string
	var check bool
	cmd := &cobra.Command{
		Use:          "bundle",
		Short:        "Compose bundles/v<version> from the operator's types and markers, and from all bundles the rights with which OLM v1 installs them",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := checkout.Root()
			if err != nil {
				return err
			}
			return compose(cmd, root, version, check)
		},
	}
	cmd.PersistentFlags().StringVar(&version, "version", project.Version, "version of the bundle, without a leading v")
	cmd.Flags().BoolVar(&check, "check", false, "write nothing; exit 1 and name the files that would change")
	cmd.SetOut(os.Stdout)
	cmd.SetErrPrefix("bundle:")
	cmd.AddCommand(validateCommand(&version), compatCommand(&version), renderCommand(&version), environmentCommand())
	return cmd
}

func compose(cmd *cobra.Command, root, version string, check bool) error {
	current, err := bundle.Compare(root, version)
	if err != nil {
		return err
	}
	if check {
		return errors.Join(current.Check(), checkInstaller(root))
	}
	if err := current.Write(); err != nil {
		return err
	}
	for _, name := range current.Stale {
		cmd.Println("wrote", current.Dir+"/"+name)
	}
	if len(current.Stale) == 0 {
		cmd.Println(current.Dir, "is up to date")
	}
	return writeInstaller(cmd, root)
}

func validateCommand(version *string) *cobra.Command {
	return &cobra.Command{
		Use:   "validate [DIRECTORY...]",
		Short: "Validate bundles with the validators of the operator framework; a warning is a failure",
		RunE: func(cmd *cobra.Command, dirs []string) error {
			if len(dirs) == 0 {
				root, err := checkout.Root()
				if err != nil {
					return err
				}
				dirs = []string{root + "/" + project.BundleDir(*version)}
			}
			for _, dir := range dirs {
				if err := bundle.Validate(dir); err != nil {
					return err
				}
				cmd.Println(dir, "is valid")
			}
			return nil
		},
	}
}
