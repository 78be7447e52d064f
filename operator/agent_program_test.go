package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// agentOf runs the command agent of an operator in a directory, and returns its exit code and what it prints. The environment has
// the variable GIVEN.
func agentOf(t *testing.T, directory string, arguments ...string) (code int, output string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	operator := filepath.Join(directory, "manager")
	if err := os.Link(self, operator); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), operator, append([]string{"agent"}, arguments...)...)
	command.Env = append(os.Environ(), asOperator+"=yes", "GIVEN=value")
	printed, err := command.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return command.ProcessState.ExitCode(), string(printed)
}

// Pods run the agent as a command of the operator.
func TestTheOperatorBecomesTheAgentBesideIt(t *testing.T) {
	directory := t.TempDir()
	if err := os.Symlink("/bin/sh", filepath.Join(directory, "agent")); err != nil {
		t.Fatal(err)
	}
	code, output := agentOf(t, directory, "-c", `echo "$GIVEN $0 $*"; exit 7`, "--help", "two words")
	if want := "value --help two words\n"; code != 7 || output != want {
		t.Errorf("the agent ends with %d and prints %q, want 7 and %q", code, output, want)
	}
}

func TestAnOperatorWithoutAgentSaysWhatToRun(t *testing.T) {
	directory := t.TempDir()
	code, output := agentOf(t, directory, "--help")
	want := "there is no " + filepath.Join(directory, "agent") + ": use the operator's image, or run `go run ./operator/agent/main`\n"
	if code != 1 || !strings.HasSuffix(output, want) || strings.Count(output, "\n") != 1 {
		t.Errorf("the operator ends with %d and prints\n%s", code, output)
	}
}
