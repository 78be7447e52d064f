// Command verify runs every check on a checkout except its tests: the code passes the linter, generated files are current,
// releases are unchanged, and images build reproducibly. It continues after a failed check, and ends with the list of
// failures and their fixes.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"
)

func main() {
	if command().ExecuteContext(signals.SetupSignalHandler()) != nil {
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var tools toolPaths
	cmd := &cobra.Command{
		Use:          "verify",
		Short:        "Run every check on the checkout except its tests",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runAll(cmd.Context(), cmd.OutOrStdout(), checks(tools))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&tools.golangciLint, "golangci-lint", "golangci-lint", "golangci-lint to use")
	flags.StringVar(&tools.govulncheck, "govulncheck", "govulncheck", "govulncheck to use")
	flags.StringVar(&tools.operatorSDK, "operator-sdk", "operator-sdk", "operator-sdk to use")
	flags.StringVar(&tools.olmv1Resolver, "olmv1-resolver", "olmv1-resolver", "program with the resolver of OLM v1 to compare with")
	cmd.SetErrPrefix("verify:")
	return cmd
}

// check is one check. Its function returns the findings as an error.
type check struct {
	name string
	// fix says what to do if the check fails.
	fix string
	run func(ctx context.Context) error
}

// notice is the reason why a check could not run here. It is printed. It is not a failure, and the check does not count as passed.
type notice string

func (n notice) Error() string { return string(n) }

func runAll(ctx context.Context, out io.Writer, checks []check) error {
	var failed, unchecked []string
	for _, c := range checks {
		start := time.Now()
		err := c.run(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		state := "ok"
		var n notice
		switch {
		case errors.As(err, &n):
			state = "not checked: " + n.Error()
			unchecked = append(unchecked, c.name)
		case err != nil:
			state = "FAILED"
			failed = append(failed, fmt.Sprintf("%s: %s", c.name, c.fix))
		}
		fmt.Fprintf(out, "%-34s %6.1fs  %s\n", c.name, time.Since(start).Seconds(), state)
		if state == "FAILED" {
			fmt.Fprintln(out, indent(err.Error()))
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("%d of %d checks failed\n%s", len(failed), len(checks), indent(strings.Join(failed, "\n")))
	}
	fmt.Fprintf(out, "%d checks passed", len(checks)-len(unchecked))
	if len(unchecked) > 0 {
		fmt.Fprintf(out, ", %d not checked: %s", len(unchecked), strings.Join(unchecked, ", "))
	}
	fmt.Fprintln(out)
	return nil
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
}

// program returns a check that runs a program in a directory of the checkout. The error has the output of the program.
func program(dir, name string, args ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := output(ctx, dir, name, args...)
		return err
	}
}

func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out.String())
	}
	return out.String(), nil
}
