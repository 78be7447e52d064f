package entry_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/memcached/desired/entry"
)

// patience is how long tests wait for what takes a second or two.
const patience = time.Minute

// TestMain runs more tests at a time than there are processors: they wait for memcached's clock, and compute next to nothing.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "12"); err != nil {
		log.Fatal(err)
	}
	m.Run()
}

// each runs test with every memcached that is there, and one of them also with the other shell of the official images.
func each(t *testing.T, test func(t *testing.T, c *container)) {
	var once sync.Once
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		all := shells(t)
		other, found := all["busybox"]
		delete(all, "busybox")
		once.Do(func() {
			if found {
				all["busybox"] = other
			}
		})
		for name, shell := range all {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, newContainer(t, run, shell))
			})
		}
	})
}

// shell is a command that reads a script, and a directory with those programs that scripts may use.
type shell struct {
	command  []string
	programs string
}

// shells returns that of this machine, and busybox if it is there.
func shells(t *testing.T) map[string]shell {
	t.Helper()
	all := map[string]shell{"sh": {command: []string{"/bin/sh"}, programs: t.TempDir()}}
	for _, program := range []string{"sleep", "rm", "touch"} {
		link(t, program, filepath.Join(all["sh"].programs, program))
	}
	if busybox, err := exec.LookPath("busybox"); err == nil {
		all["busybox"] = shell{command: []string{busybox, "sh"}, programs: t.TempDir()}
		for _, program := range []string{"sleep", "rm", "touch"} {
			if err := os.Symlink(busybox, filepath.Join(all["busybox"].programs, program)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return all
}

func link(t *testing.T, program, path string) {
	t.Helper()
	target, err := exec.LookPath(program)
	if err == nil {
		err = os.Symlink(target, path)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// container stands for one that is restarted in its pod: the volume with the items stays.
type container struct {
	shell     shell
	memcached string
	memory    string
	log       *testkit.Log

	main    *exec.Cmd
	ended   chan struct{}
	endedAt time.Time
}

func newContainer(t *testing.T, run agenttesting.Runner, shell shell) *container {
	t.Helper()
	volume, err := os.MkdirTemp("/dev/shm", "entry")
	if err != nil {
		t.Skip("no tmpfs to write to: ", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(volume) })
	log := testkit.NewLog(t)
	c := &container{shell: shell, memcached: run.Program(t), memory: filepath.Join(volume, "memory"), log: log}
	t.Cleanup(func() { c.kill() })
	return c
}

// execute returns a command that runs in the container.
func (c *container) execute(command, arguments []string) *exec.Cmd {
	all := append(append(append([]string{}, c.shell.command...), command[1:]...), arguments...)
	cmd := exec.Command(all[0], all[1:]...)
	cmd.Env = []string{"PATH=" + c.memcached + ":" + c.shell.programs}
	return cmd
}

// launch starts the container.
func (c *container) launch(t *testing.T, arguments ...string) {
	t.Helper()
	// While a container is down, something else could take its port, but not its socket.
	all := []string{"-s", c.memory + ".sock", "-m", "64", "-e", c.memory}
	if os.Getuid() == 0 {
		all = append(all, "-u", "root")
	}
	c.main = c.execute(entry.Command(c.memory), append(all, arguments...))
	c.main.Stdout, c.main.Stderr = c.log, c.log
	c.main.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.main.Start(); err != nil {
		t.Fatal(err)
	}
	c.ended = make(chan struct{})
	go func() {
		_ = c.main.Wait()      // Tests look at the state, not at the error.
		c.endedAt = time.Now() //nolint:forbidigo // the time of a real process
		close(c.ended)
	}()
}

// start starts the container and waits until memcached answers.
func (c *container) start(t *testing.T) {
	t.Helper()
	c.launch(t)
	agenttesting.Await(t, "memcached answers", func() error {
		conn, err := c.dial()
		if err != nil {
			return fmt.Errorf("%w; the log: %s", err, c.log.String())
		}
		return conn.Close()
	})
}

// end waits until the container has ended by itself, and returns its exit status.
func (c *container) end(t *testing.T) int {
	t.Helper()
	select {
	case <-c.ended:
	case <-time.After(patience):
		t.Fatalf("the container does not end; its log: %s", c.log.String())
	}
	return c.main.ProcessState.ExitCode()
}

// preStop runs the hook.
func (c *container) preStop(t *testing.T) {
	t.Helper()
	if said, err := c.execute(entry.PreStop(c.memory), nil).CombinedOutput(); err != nil || len(said) > 0 {
		t.Errorf("the hook: %v: %s", err, said)
	}
}

// stop stops the container as the kubelet does: the hook, and then SIGTERM.
func (c *container) stop(t *testing.T) {
	t.Helper()
	process := c.processID(t)
	c.preStop(t)
	if err := syscall.Kill(process, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("after the hook, memcached still runs: %v", err)
	}
	_ = c.main.Process.Signal(syscall.SIGTERM) // It may have ended by now.
	if status := c.end(t); status != 0 {
		t.Errorf("it ends with %d; its log: %s", status, c.log.String())
	}
	c.waitsForHook(t)
}

// waitsForHook checks that the container has outlived memcached by a second, within which the hook notices that memcached has ended: the hook
// dies with the container. memcached ends with the last write of its file. Linux dates a file up to a tick too early (CONFIG_HZ), so the time
// of a second file could make a whole second look shorter.
func (c *container) waitsForHook(t *testing.T) {
	t.Helper()
	memcached, err := os.Stat(c.meta())
	if err != nil {
		t.Fatal(err)
	}
	if left := c.endedAt.Sub(memcached.ModTime()); left < time.Second {
		t.Errorf("the container has ended %s after memcached: the hook would have died with it", left)
	}
}

// restart stops the container and starts it again.
func (c *container) restart(t *testing.T) {
	t.Helper()
	c.stop(t)
	c.start(t)
}

// kill ends everything that runs in the container, as for lack of memory.
func (c *container) kill() {
	if c.main != nil && c.main.Process != nil {
		_ = syscall.Kill(-c.main.Process.Pid, syscall.SIGKILL)
		<-c.ended
	}
}

// processID returns memcached's.
func (c *container) processID(t *testing.T) int {
	t.Helper()
	data, err := os.ReadFile(c.memory + ".pid")
	if err != nil {
		t.Fatal(err)
	}
	id, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (c *container) dial() (net.Conn, error) {
	conn, err := net.DialTimeout("unix", c.memory+".sock", patience)
	if err == nil {
		err = conn.SetDeadline(time.Now().Add(patience)) //nolint:forbidigo // the deadline is of a real connection
	}
	return conn, err
}

// exchange sends commands and returns what memcached answers.
func (c *container) exchange(t *testing.T, commands string) string {
	t.Helper()
	conn, err := c.dial()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	sent := make(chan error, 1)
	go func() {
		_, err := io.WriteString(conn, commands+"mn\r\nquit\r\n")
		sent <- err
	}()
	answer, err := io.ReadAll(conn)
	if err := errors.Join(err, <-sent); err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSuffix(answer, []byte("MN\r\n")))
}

// Tests store this many items, in several pages and classes, and read many with one command: memcached 1.6.18 writes the answer to each
// command by itself, and on a busy machine each of these writes waits for its turn.
const items, atOnce = 20_000, 100

// itemCommands are commands to memcached, with the answers.
type itemCommands struct {
	// sets store all items, and gets read them.
	sets, gets string
	// found are the answers if the items are there, one for each item.
	found [items]string
}

// forItems makes them once, because the race detector takes a second for it.
var forItems = sync.OnceValue(func() *itemCommands {
	var made itemCommands
	var sets, gets strings.Builder
	for i := range items {
		value := strings.Repeat(fmt.Sprintf("%d-", i), 1+i%50)
		fmt.Fprintf(&sets, "set key-%d 0 0 %d noreply\r\n%s\r\n", i, len(value), value)
		made.found[i] = fmt.Sprintf("VALUE key-%d 0 %d\r\n%s\r\n", i, len(value), value)
		if i%atOnce == 0 {
			gets.WriteString("get")
		}
		fmt.Fprintf(&gets, " key-%d", i)
		if i%atOnce == atOnce-1 {
			gets.WriteString("\r\n")
		}
	}
	made.sets, made.gets = sets.String(), gets.String()
	return &made
})

// fill stores all items.
func (c *container) fill(t *testing.T) {
	t.Helper()
	if answer := c.exchange(t, forItems().sets); answer != "" {
		t.Fatalf("memcached answers %.200s", answer)
	}
}

// has reads all items, and returns how many are there. One that is there with another value fails the test.
func (c *container) has(t *testing.T) int {
	t.Helper()
	answer, found := c.exchange(t, forItems().gets), 0
	for i, want := range &forItems().found {
		if rest, ok := strings.CutPrefix(answer, want); ok {
			answer, found = rest, found+1
		}
		if i%atOnce != atOnce-1 {
			continue
		}
		rest, ok := strings.CutPrefix(answer, "END\r\n")
		if !ok {
			t.Fatalf("after item %d, memcached answers %.200q", i, answer)
		}
		answer = rest
	}
	return found
}

// keeps fails the test unless all items are there, and memcached stores and finds new ones.
func (c *container) keeps(t *testing.T) {
	t.Helper()
	if found := c.has(t); found != items {
		t.Errorf("%d of %d items are there; the log: %s", found, items, c.log.String())
	}
	c.works(t)
}

// empty fails the test unless no item is there, and memcached stores and finds new ones.
func (c *container) empty(t *testing.T) {
	t.Helper()
	if found := c.has(t); found != 0 {
		t.Errorf("%d items are there", found)
	}
	c.works(t)
}

// works fails the test unless memcached stores and finds.
func (c *container) works(t *testing.T) {
	t.Helper()
	want := "STORED\r\nVALUE new 0 1\r\n1\r\nEND\r\nDELETED\r\n"
	if answer := c.exchange(t, "set new 0 0 1\r\n1\r\nget new\r\ndelete new\r\n"); answer != want {
		t.Errorf("memcached answers %q", answer)
	}
}

func (c *container) meta() string {
	return c.memory + ".meta"
}
