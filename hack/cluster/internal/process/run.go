package process

import (
	"fmt"
	"os/exec"
	"strings"
)

// Run runs a program to its end and returns its standard output. The error holds the last lines of its standard error.
func Run(cmd *exec.Cmd) (string, error) {
	var problems strings.Builder
	cmd.Stderr = &problems
	output, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, lastLines(problems.String(), ""))
	}
	return string(output), nil
}

// lastLines returns the end of a program's output, which usually says why it failed, with each line indented.
func lastLines(output, indent string) string {
	const most = 15
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return indent + strings.Join(lines[max(0, len(lines)-most):], "\n"+indent)
}
