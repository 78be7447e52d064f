// Command verify decides whether a checkout is fit to land, apart from its tests: the
// code is linted, what is generated is current, what is released is untouched, images
// build reproducibly. It runs every check, also after one failed, and ends with the list
// of failures, each with the way to mend it.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "verify:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var tools toolPaths
	cmd := &cobra.Command{
		Use:           "verify",
		Short:         "Run every check on the checkout but its tests",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runAll(cmd.Context(), cmd.OutOrStdout(), checks(tools))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&tools.golangciLint, "golangci-lint", "golangci-lint", "golangci-lint to use")
	flags.StringVar(&tools.govulncheck, "govulncheck", "govulncheck", "govulncheck to use")
	flags.StringVar(&tools.operatorSDK, "operator-sdk", "operator-sdk", "operator-sdk to use")
	return cmd
}

// check is one thing that has to hold. Its run prints nothing when it does.
type check struct {
	name string
	// mend says what to do when the check fails, unless the output itself says it.
	mend string
	run  func(ctx context.Context) error
}

// notice is what a check returns that could not be made here, and why. It is no failure, and
// the check is not counted among those that passed.
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
			failed = append(failed, fmt.Sprintf("%s: %s", c.name, c.mend))
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

// program returns a run that executes a program, in a folder of the checkout, and fails
// with what it printed.
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
