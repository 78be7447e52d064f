// Command catalog renders the catalog that is served from the template that people edit and the released bundles. It
// is a thin shell over the packages below it. Run it from anywhere inside the checkout: go run ./hack/catalog --help.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/example/memcached-operator/hack/internal/catalog"
	"github.com/example/memcached-operator/hack/internal/checkout"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "catalog:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use:           "catalog",
		Short:         "Render catalog/memcached-operator/catalog.yaml from the template and the released bundles, and draw its graph",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
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
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "write nothing; exit 1 if the graph breaks a rule, or the rendered catalog or the page about it would change")
	cmd.SetOut(os.Stdout) // Results; progress and errors go to standard error.
	cmd.AddCommand(validateCommand())
	return cmd
}

func validateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE",
		Short: "Validate a rendered catalog as `opm validate` does, its upgrade graph, and that it refers to bundles by digest",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			content, err := os.ReadFile(args[0])
			if err != nil {
				return fmt.Errorf("read the catalog: %w", err)
			}
			if err := catalog.Validate(cmd.Context(), content); err != nil {
				return err
			}
			cmd.Println(args[0], "is valid")
			return nil
		},
	}
}
