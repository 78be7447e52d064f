// Command ci runs `go test` on modules of the checkout and ends with a table of seconds by test and package. Results of
// packages are printed as they come, and the whole output of a test that fails. When CI is true, a skipped test fails the
// run: what is not tested there is tested nowhere.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "ci:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var modules []string
	var verbose bool
	cmd := &cobra.Command{
		Use:           "ci -- ARGUMENTS",
		Short:         "Run go test with these arguments, and end with a table of seconds",
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			out := cmd.OutOrStdout()
			results := newResults(out, verbose)
			var failed error
			for _, module := range modules {
				failed = errors.Join(failed, run(cmd.Context(), module, args, results))
			}
			results.table(out)
			return errors.Join(failed, results.err(os.Getenv("CI") == "true"))
		},
	}
	cmd.Flags().StringSliceVar(&modules, "module", []string{"."}, "folder of a module to test")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "print the output of every test as it comes")
	return cmd
}

// run runs the tests of one module. The error says that go test did not get as far as running them, or was interrupted.
func run(ctx context.Context, module string, args []string, results *results) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...)
	cmd.Dir, cmd.Stderr = module, os.Stderr
	// Tests are interrupted rather than killed, so that they can remove what they made.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	events, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("run go test in %s: %w", module, err)
	}
	read := results.read(events)
	_, drained := io.Copy(io.Discard, events)
	err = cmd.Wait()
	if err != nil {
		err = fmt.Errorf("go test %s in %s: %w", strings.Join(args, " "), module, err)
	}
	return errors.Join(read, drained, err)
}
