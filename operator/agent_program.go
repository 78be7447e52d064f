package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// agentCommand is the first argument that makes this process the agent instead of the manager. It is also the name of the agent's program.
const agentCommand = "agent"

// becomeAgent replaces this process by the agent, a program beside this one, which takes less memory (package agent/main). It returns
// only if that fails.
func becomeAgent(arguments, environ []string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the agent beside this program: %w", err)
	}
	program := filepath.Join(filepath.Dir(self), agentCommand)
	err = syscall.Exec(program, append([]string{program}, arguments...), environ)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the agent is a program of its own, and there is no %s: use the operator's image, or run `go run ./operator/agent/main`", program)
	}
	return fmt.Errorf("run the agent %s: %w", program, err)
}
