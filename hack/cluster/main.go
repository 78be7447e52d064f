// Command cluster brings up a Kubernetes with OLM on this machine, and removes it without a trace.
// See README.md for what it runs and where its files are.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/example/memcached-operator/hack/cluster/internal/cluster"
	"github.com/example/memcached-operator/hack/cluster/internal/host"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := root().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// root is the command with all its subcommands.
func root() *cobra.Command {
	command := &cobra.Command{
		Use:           "cluster",
		Short:         "A local Kubernetes with OLM, built from Go modules and Debian packages",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	command.AddCommand(up(), down(), kill(), start(), pause(), resume(), env(), packages(), tool(), assets(), memcached(), mirror())
	return command
}

// subcommand is a command that works on the local cluster. It returns what to print on standard output; progress goes to
// standard error.
func subcommand(use, short string, args cobra.PositionalArgs, run func(context.Context, *cluster.Cluster, []string) (string, error)) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: args, RunE: func(cmd *cobra.Command, args []string) error {
		layout, err := host.Find()
		if err != nil {
			return err
		}
		result, err := run(cmd.Context(), cluster.New(layout, os.Stderr), args)
		if err != nil {
			return err
		}
		_, err = fmt.Fprint(cmd.OutOrStdout(), result)
		return err
	}}
}
