// Package child runs a part of the benchmark in a process of its own, so that its processor time and memory are its own. Parent and child
// talk over the child's standard input and output; the child ends when the parent does.
package child

import (
	"context"
	"fmt"
	"net/rpc"
	"net/rpc/jsonrpc"
	"os"
	"os/exec"
	"syscall"
)

// Child is a running child process.
type Child struct {
	command *exec.Cmd
	client  *rpc.Client
}

// Start runs this program again with other arguments and waits until it is ready. What it logs goes to log. It ends with ctx at the
// latest.
func Start(ctx context.Context, log *os.File, arguments ...string) (*Child, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, program, arguments...)
	command.Stderr = log
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the parent, which stops its children.
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start %s %v: %w", program, arguments, err)
	}
	c := &Child{command: command, client: jsonrpc.NewClient(&pipes{stdout, stdin})}
	if err := c.Call("Process.Ready", Nothing{}, &Nothing{}); err != nil {
		c.Stop()
		return nil, fmt.Errorf("%v did not start (its log is %s): %w", arguments, log.Name(), err)
	}
	return c, nil
}

// Call makes a call and waits for its answer.
func (c *Child) Call(method string, request, answer any) error {
	if err := c.client.Call(method, request, answer); err != nil {
		return fmt.Errorf("%s of process %d: %w", method, c.command.Process.Pid, err)
	}
	return nil
}

// Usage returns what the child has used.
func (c *Child) Usage() (usage Usage, err error) {
	return usage, c.Call("Process.Usage", Nothing{}, &usage)
}

// Heap is Usage with the live heap.
func (c *Child) Heap() (usage Usage, err error) {
	return usage, c.Call("Process.Heap", Nothing{}, &usage)
}

// Stop ends the child at once: what it could still do was measured, or does not matter. It may be called more than once.
func (c *Child) Stop() {
	_ = c.command.Process.Kill() // It may have ended already.
	_ = c.client.Close()
	_ = c.command.Wait()
}
