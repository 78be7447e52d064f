// Command release makes releases, checks that old ones are still what they were, and stages them on a registry for a
// cluster to install. It is a thin shell over the packages below it. Run it from anywhere inside the checkout:
// go run ./hack/release --help.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	cmd := &cobra.Command{
		Use: "release", Short: "Make, check and stage releases", SilenceUsage: true, SilenceErrors: true,
	}
	cmd.SetOut(os.Stdout) // Results; progress and errors go to standard error.
	cmd.AddCommand(makeCommand(), verifyCommand(), stageCommand())
	return cmd
}
