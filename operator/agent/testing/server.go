package testing

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/example/memcached-operator/operator/internal/testkit"
)

// patience is how long tests wait for what takes milliseconds, or a tick of memcached's clock.
const patience = time.Minute

// count makes names of processes different from each other.
var count atomic.Int64

// Runner starts memcacheds of one version.
type Runner struct {
	// Version is memcached's version, for example 1.6.45.
	Version string

	// Environment are variables, as NAME=value, that memcached has beside those of the tests.
	Environment []string

	command []string
}

// Server is a memcached that runs until the end of the test.
type Server struct {
	// Address is where it listens, host:port.
	Address string

	// Name is the name of its process, different from every other one's.
	Name string

	all         []string
	environment []string
	command     *exec.Cmd
}

// Program returns a directory with an executable file memcached, for tests of what finds memcached in PATH.
func (r Runner) Program(t testing.TB) string {
	t.Helper()
	directory := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' \"$@\"\n", strings.Join(r.command, "' '"))
	// Were it this process that writes the file, one that is forked meanwhile could keep it open, and it could not be executed.
	write := exec.Command("/bin/sh", "-c", `cat > "$0" && chmod +x "$0"`, filepath.Join(directory, "memcached"))
	write.Stdin = strings.NewReader(script)
	if output, err := write.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return directory
}

// Start starts memcached with further arguments and waits until it listens.
func (r Runner) Start(t testing.TB, arguments ...string) *Server {
	t.Helper()
	s := &Server{Address: testkit.FreeAddress(t), Name: fmt.Sprintf("mc%d-%d", os.Getpid(), count.Add(1)), environment: r.Environment}
	host, port, err := net.SplitHostPort(s.Address)
	if err != nil {
		t.Fatal(err)
	}
	// A process is named after the file that is executed, link or not.
	link := filepath.Join(t.TempDir(), s.Name)
	if err := os.Symlink(r.command[0], link); err != nil {
		t.Fatal(err)
	}
	s.all = append(append([]string{link}, r.command[1:]...), "-l", host, "-p", port, "-U", "0")
	if os.Getuid() == 0 {
		s.all = append(s.all, "-u", "root")
	}
	s.all = append(s.all, arguments...)
	s.Restart(t)
	return s
}

// Restart starts memcached anew after Stop, and waits until it listens.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.command = exec.Command(s.all[0], s.all[1:]...)
	s.command.Env = append(os.Environ(), s.environment...)
	s.command.Stderr = t.Output()
	if err := s.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop(syscall.SIGKILL) })
	Await(t, "memcached listens", func() error {
		conn, err := net.DialTimeout("tcp", s.Address, time.Second)
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

// slowStart is for how many seconds memcached may start on a busy machine. A start that takes longer than memcached ran and was away cannot be
// told from a cold one: see mostColdLead in package metrics.
const slowStart = 4

// RestartWarm is Restart for a memcached with a memory file (-e) that stopped by SIGUSR1. It restores its items only once
// the clock shows another second than the one that it wrote down when it stopped. It is away for longer, because in tests it ran only for a
// moment.
func (s *Server) RestartWarm(t testing.TB) {
	t.Helper()
	meta, err := os.ReadFile(s.all[slices.Index(s.all, "-e")+1] + ".meta")
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(meta), "\nKstop_time ")
	line, _, _ = strings.Cut(line, "\n")
	stopped, err := strconv.ParseInt(line, 10, 64)
	if err != nil {
		t.Fatalf("memcached does not say when it stopped: %v in:\n%s", err, meta)
	}
	Await(t, "memcached was away for long enough", func() error {
		if now := time.Now().Unix(); now <= stopped+slowStart {
			return fmt.Errorf("memcached stopped at %d, and it is %d", stopped, now)
		}
		return nil
	})
	s.Restart(t)
}

// PID is the process ID.
func (s *Server) PID() int {
	return s.command.Process.Pid
}

// Stop sends a signal that ends it, and waits for that. Of one that is stopped it asks nothing.
func (s *Server) Stop(signal syscall.Signal) {
	if s.command.ProcessState == nil {
		_ = s.command.Process.Signal(signal)
		_ = s.command.Wait() // It was signalled: that is its exit.
	}
}

// Await calls check until it has no error, and fails the test with the last one if that takes too long.
func Await(t testing.TB, what string, check func() error) {
	t.Helper()
	var err error
	_ = wait.PollUntilContextTimeout(context.Background(), 20*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		err = check()
		return err == nil, nil
	})
	if err != nil {
		t.Fatalf("waited in vain until %s: %v", what, err)
	}
}
