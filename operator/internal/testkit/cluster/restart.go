package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Part is a program of the control plane.
type Part string

// The parts that tests may restart.
const (
	APIServer Part = "kube-apiserver"
	Etcd      Part = "etcd"
)

// restartTimeout is how long a part may take to end, and to start, on a busy machine.
const restartTimeout = time.Minute

// Kill ends the part without letting it finish anything. Tests that run at the same time notice that.
func (p Part) Kill() error {
	pid, err := p.pid()
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill %s: %w", p, err)
	}
	return wait.PollUntilContextTimeout(context.Background(), 10*time.Millisecond, restartTimeout, true, func(context.Context) (bool, error) {
		return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH), nil
	})
}

// Start starts the part that was killed, with its arguments and its data from before, and waits until it is healthy.
func (p Part) Start() error {
	plane := &environment.ControlPlane
	if p == Etcd {
		plane.Etcd.StartTimeout = restartTimeout
		return plane.Etcd.Start()
	}
	plane.APIServer.StartTimeout = restartTimeout
	return plane.APIServer.Start()
}

// pid finds the process, which envtest does not tell, among the children of this one.
func (p Part) pid() (int, error) {
	files, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		return 0, err
	}
	parent := fmt.Sprintf("\nPPid:\t%d\n", os.Getpid())
	for _, file := range files {
		directory := filepath.Dir(file)
		status, err1 := os.ReadFile(file)
		command, err2 := os.ReadFile(filepath.Join(directory, "cmdline"))
		if errors.Join(err1, err2) != nil { // It has just ended.
			continue
		}
		program, arguments, _ := strings.Cut(string(command), "\x00")
		isHelp := strings.HasPrefix(arguments, "--help") // By which envtest finds out which flags there are.
		if strings.Contains(string(status), parent) && filepath.Base(program) == string(p) && !isHelp {
			return strconv.Atoi(filepath.Base(directory))
		}
	}
	return 0, fmt.Errorf("%s is no child of this process", p)
}
