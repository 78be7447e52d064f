// Command cluster brings a real single-node Kubernetes with OLM up on this machine, and takes it down again without a trace.
// See README.md for what it starts and where.
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

// root is the command with all its verbs.
func root() *cobra.Command {
	command := &cobra.Command{
		Use:           "cluster",
		Short:         "A local single-node Kubernetes with OLM, built from Go modules and Debian packages",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	command.AddCommand(up(), down(), env(), packages(), tool(), assets(), memcached(), mirrored())
	return command
}

// local is what every verb works on. Progress goes to standard error: standard output is for results.
func local() (host.Layout, *cluster.Cluster, error) {
	l, err := host.Find()
	if err != nil {
		return host.Layout{}, nil, err
	}
	return l, cluster.New(l, cluster.NewReporter(os.Stderr)), nil
}
