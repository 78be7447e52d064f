// Command bench measures how fast the operator is beside a bare client, which writes the same objects to the same API server in the same
// run. What is measured is in package scenario.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/example/memcached-operator/hack/bench/scenario"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command().ExecuteContext(ctx)
	stop()
	if err != nil {
		os.Exit(1)
	}
}

func command() *cobra.Command {
	cmd := &cobra.Command{Use: "bench", Short: "Measure the operator beside a bare client", SilenceUsage: true}
	cmd.SetOut(os.Stdout)
	cmd.SetErrPrefix("bench:")
	cmd.AddCommand(run(), check(), record(), showTimeline(), hidden(scenario.OperatorCommand, runOperator), hidden(scenario.BareCommand, runBare))
	return cmd
}

// hidden is a command that this program starts itself.
func hidden(name string, run func(ctx context.Context, kubeconfig string, arguments []string) error) *cobra.Command {
	return &cobra.Command{Use: name + " KUBECONFIG", Hidden: true, Args: cobra.MinimumNArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
		err := run(cmd.Context(), args[0], args[1:])
		if errors.Is(err, context.Canceled) {
			return nil
		}
		return err
	}}
}
