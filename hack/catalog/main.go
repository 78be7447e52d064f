// Command catalog renders the served catalog from the template that people edit and the released bundles, and validates
// catalogs.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"

	"github.com/example/memcached-operator/hack/internal/catalog"
	"github.com/example/memcached-operator/hack/internal/checkout"
)

func main() {
	if command().ExecuteContext(signals.SetupSignalHandler()) != nil {
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use:          "catalog",
		Short:        "Render catalog/memcached-operator/catalog.yaml from the template and the released bundles, and the page about its graph",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE:         func(cmd *cobra.Command, _ []string) error { return run(cmd, check) },
	}
	cmd.Flags().BoolVar(&check, "check", false, "write nothing; exit 1 if the graph breaks a rule, or if the rendered catalog or the page would change")
	cmd.SetOut(os.Stdout)
	cmd.SetErrPrefix("catalog:")
	cmd.AddCommand(validateCommand())
	return cmd
}

func run(cmd *cobra.Command, check bool) error {
	root, err := checkout.Root()
	if err != nil {
		return err
	}
	rendered, err := catalog.RenderCheckout(cmd.Context(), root)
	if err != nil {
		return err
	}
	if check {
		return catalog.Check(root, rendered)
	}
	written, err := catalog.Write(root, rendered)
	for _, name := range written {
		cmd.Println("wrote", name)
	}
	switch {
	case err != nil:
		return err
	case len(rendered) == 0:
		cmd.Println("nothing is released, so there is no catalog to serve")
	case len(written) == 0:
		cmd.Println(catalog.File, "and", catalog.PageFile, "are up to date")
	}
	return nil
}

func validateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE",
		Short: "Validate a rendered catalog as `opm validate` does, its upgrade graph, and that it names bundles by digest",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			content, err := os.ReadFile(args[0])
			if err != nil {
				return fmt.Errorf("read the catalog: %w", err)
			}
			if err := catalog.Validate(content); err != nil {
				return err
			}
			cmd.Println(args[0], "is valid")
			return nil
		},
	}
}
