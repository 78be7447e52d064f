// Command bundle composes the OLM bundle of the version under development from the operator's source, validates
// bundles, and renders them to plain manifests for clusters without OLM. It is a thin shell over the packages below
// it. Run it from anywhere inside the checkout: go run ./hack/bundle --help.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/example/memcached-operator/hack/internal/bundle"
	"github.com/example/memcached-operator/hack/internal/checkout"
	"github.com/example/memcached-operator/hack/project"
)

func main() {
	if err := command().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var version string
	var check bool
	cmd := &cobra.Command{
		Use:           "bundle",
		Short:         "Compose bundles/v<version> from the operator's types and markers",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
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
	cmd.SetOut(os.Stdout) // Results; progress and errors go to standard error.
	cmd.AddCommand(validateCommand(&version), compatCommand(&version), renderCommand(&version), environmentCommand())
	return cmd
}

func compose(cmd *cobra.Command, root, version string, check bool) error {
	current, err := bundle.Compare(root, version)
	if err != nil {
		return err
	}
	if check {
		return current.Check()
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
	return nil
}

func validateCommand(version *string) *cobra.Command {
	return &cobra.Command{
		Use:   "validate [DIRECTORY...]",
		Short: "Validate bundles with every validator of the operator framework; a warning is a failure",
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

func renderCommand(version *string) *cobra.Command {
	var options Options
	var direct, crds bool
	var operands string
	cmd := &cobra.Command{
		Use:   "render (--direct | --crds)",
		Short: "Print the bundle as plain manifests, to install without OLM",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := checkout.Root()
			if err != nil {
				return err
			}
			if options.Operands, err = project.LoadStandIns(operands); err != nil {
				return err
			}
			options.CRDsOnly = crds
			out, err := Render(root+"/"+project.BundleDir(*version), options)
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(out)
			return err
		},
	}
	cmd.Flags().BoolVar(&direct, "direct", false, "everything: namespace, definitions, permissions, Deployment")
	cmd.Flags().BoolVar(&crds, "crds", false, "only the custom resource definitions")
	cmd.Flags().StringVar(&options.Image, "image", "", "image of the manager (default: the one that the bundle names)")
	cmd.Flags().StringVar(&operands, "operands", "", "JSON file that maps official operand images to the ones to run")
	cmd.MarkFlagsOneRequired("direct", "crds")
	cmd.MarkFlagsMutuallyExclusive("direct", "crds")
	return cmd
}

func environmentCommand() *cobra.Command {
	var operands string
	cmd := &cobra.Command{
		Use:   "environment",
		Short: "Print the variables that tell a manager outside a cluster which images caches run, a NAME=VALUE a line",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			standIns, err := project.LoadStandIns(operands)
			if err != nil {
				return err
			}
			lines := project.DefaultOperandEnv + "=" + project.DefaultOperand + "\n"
			for _, known := range project.Operands() {
				lines += known.Env() + "=" + known.Image + "\n"
			}
			replaced, err := standIns.Replace([]byte(lines))
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(replaced)
			return err
		},
	}
	cmd.Flags().StringVar(&operands, "operands", "", "JSON file that maps official operand images to the ones to run")
	return cmd
}
