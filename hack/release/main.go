// Command release makes releases, checks that released bundles are unchanged, and stages releases on a registry for a
// cluster to install.
package main

import (
	"os"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"
)

func main() {
	if command().ExecuteContext(signals.SetupSignalHandler()) != nil {
		os.Exit(1)
	}
}

func command() *cobra.Command {
	cmd := &cobra.Command{Use: "release", Short: "Make, check and stage releases", SilenceUsage: true}
	cmd.SetOut(os.Stdout)
	cmd.SetErrPrefix("release:")
	cmd.AddCommand(makeCommand(), verifyCommand(), stageCommand())
	return cmd
}
