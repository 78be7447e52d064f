package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/example/memcached-operator/hack/bundle/compat"
	"github.com/example/memcached-operator/hack/internal/checkout"
)

func compatCommand(version *string) *cobra.Command {
	return &cobra.Command{
		Use:   "compat",
		Short: "Compare the CRDs with those of earlier releases, and of releases along the edges of the catalog, as OLM does",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := checkout.Root()
			if err != nil {
				return err
			}
			result, err := compat.Check(cmd.Context(), root, *version)
			if err != nil {
				return err
			}
			if len(result.Problems) > 0 {
				return errors.New("the CRDs are not compatible:\n" + strings.Join(result.Problems, "\n"))
			}
			for _, upgrade := range result.Upgrades {
				cmd.Println(upgrade, "is compatible")
			}
			cmd.Printf("%d upgrades and %d sample objects checked\n", len(result.Upgrades), result.Samples)
			return nil
		},
	}
}
