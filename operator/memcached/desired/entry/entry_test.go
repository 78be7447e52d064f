package entry_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
	"github.com/example/memcached-operator/operator/memcached/desired/entry"
)

func TestItemsOutliveRestarts(t *testing.T) {
	each(t, func(t *testing.T, c *container) {
		c.start(t)
		c.fill(t)
		c.restart(t)
		c.keeps(t)
		c.restart(t)
		c.keeps(t)
	})
}

func TestItemsOutliveSIGTERMWithoutTheHook(t *testing.T) {
	each(t, func(t *testing.T, c *container) {
		c.start(t)
		c.fill(t)
		_ = c.main.Process.Signal(syscall.SIGTERM)
		if status := c.end(t); status != 0 {
			t.Errorf("it ends with %d", status)
		}
		c.start(t)
		c.keeps(t)
	})
}

// The shell that would have waited is killed right after memcached has saved, and the container starts at once.
func TestItemsOutliveARestartWithinTheSameSecond(t *testing.T) {
	each(t, func(t *testing.T, c *container) {
		var saved os.FileInfo
		agenttesting.Await(t, "the shell is killed within a second", func() error { // On a busy machine that can take several attempts.
			c.start(t)
			c.fill(t)
			c.preStop(t)
			c.kill()
			var err error
			if saved, err = os.Stat(c.meta()); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(c.memory + ".rested"); !errors.Is(err, os.ErrNotExist) {
				return errors.New("it has waited for a second")
			}
			return nil
		})
		c.start(t)
		c.keeps(t)
		if now := since(saved); now < time.Second {
			t.Errorf("memcached started %s after it had stopped", now)
		}
	})
}

func since(file os.FileInfo) time.Duration {
	return time.Since(file.ModTime()) //nolint:forbidigo // the time of a real file
}

// A second that has passed before the container ends is not waited for again.
func TestARestartWaitsOnce(t *testing.T) {
	each(t, func(t *testing.T, c *container) {
		c.start(t)
		c.stop(t)
		for name, want := range map[string]bool{"meta": true, "rested": true} {
			if _, err := os.Stat(c.memory + "." + name); (err == nil) != want {
				t.Errorf("beside the memory file, %s: %v", name, err)
			}
		}
		c.start(t)
		if _, err := os.Stat(c.memory + ".rested"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the mark of this stop counts for the next one: %v", err)
		}
	})
}

func TestAnotherVersionKeepsTheItems(t *testing.T) {
	t.Parallel()
	all := agenttesting.All(t)
	for _, pair := range [][2]string{{"1.6.18", "1.6.38"}, {"1.6.18", "1.6.45"}, {"1.6.38", "1.6.45"}, {"1.6.45", "1.6.38"}} {
		t.Run(pair[0]+" to "+pair[1], func(t *testing.T) {
			t.Parallel()
			from, to := version(t, all, pair[0]), version(t, all, pair[1])
			c := newContainer(t, from, shells(t)["sh"])
			c.start(t)
			c.fill(t)
			c.stop(t)
			c.memcached = to.Program(t)
			c.start(t)
			c.keeps(t)
			if answer := c.exchange(t, "version\r\n"); answer != "VERSION "+to.Version+"\r\n" {
				t.Errorf("after the change, memcached is %s", answer)
			}
		})
	}
}

// It misses lines that the newer one does not write.
func TestAnOlderVersionThatCannotReadTheItemsStartsEmpty(t *testing.T) {
	t.Parallel()
	all := agenttesting.All(t)
	c := newContainer(t, version(t, all, "1.6.38"), shells(t)["sh"])
	c.start(t)
	c.fill(t)
	c.stop(t)
	c.memcached = version(t, all, "1.6.18").Program(t)
	c.start(t)
	c.empty(t)
}

// version returns the memcached of a version, and skips the test if it is not there.
func version(t *testing.T, all []agenttesting.Runner, version string) agenttesting.Runner {
	t.Helper()
	for _, run := range all {
		if run.Version == version {
			return run
		}
	}
	t.Skip("no memcached ", version)
	return agenttesting.Runner{}
}

func TestAKilledMemcachedStartsEmpty(t *testing.T) {
	each(t, func(t *testing.T, c *container) {
		c.start(t)
		c.fill(t)
		c.kill()
		c.start(t)
		c.empty(t)
		c.fill(t)
		if err := syscall.Kill(c.processID(t), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if status := c.end(t); status != 128+int(syscall.SIGKILL) {
			t.Errorf("without memcached, the container ends with %d", status)
		}
		c.start(t)
		c.empty(t)
	})
}

// memcached saves within a second of the signal, so it is killed at different times of it.
func TestAMemcachedThatIsKilledWhileItSavesStarts(t *testing.T) {
	each(t, func(t *testing.T, c *container) {
		for _, tenth := range []time.Duration{0, 3, 6, 9, 11} {
			c.start(t)
			c.fill(t)
			if err := syscall.Kill(c.processID(t), syscall.SIGUSR1); err != nil {
				t.Fatal(err)
			}
			select {
			case <-c.ended:
			case <-time.After(tenth * 100 * time.Millisecond):
			}
			c.kill()
			whole := endsInALine(t, c.meta())
			c.start(t)
			if whole {
				c.keeps(t)
			} else {
				c.empty(t)
			}
			c.kill()
		}
	})
}

// endsInALine tells whether a file is there and was written to its end.
func endsInALine(t *testing.T, path string) bool {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.HasSuffix(string(data), "\n")
}

func TestABrokenMetaFileStopsNoStart(t *testing.T) {
	each(t, func(t *testing.T, c *container) {
		c.start(t)
		c.fill(t)
		c.stop(t)
		whole, err := os.ReadFile(c.meta())
		if err != nil {
			t.Fatal(err)
		}
		for length := 0; length < len(whole); length = next(length, len(whole)) {
			if err := os.WriteFile(c.meta(), whole[:length], 0o600); err != nil {
				t.Fatal(err)
			}
			c.start(t)
			c.empty(t)
			c.kill()
		}
	})
}

// next returns the next length at which a file is cut off: the first ones, the last ones, and some between.
func next(length, all int) int {
	if length < 8 || length >= all-4 {
		return length + 1
	}
	return min(length+37, all-4)
}

// A first line that this version does not know, for example, aborts memcached before it removes the file.
func TestAMetaFileThatCrashesMemcachedIsGoneTheSecondTime(t *testing.T) {
	each(t, func(t *testing.T, c *container) {
		for _, content := range []string{"Tnovelty\nKa b\n", "nonsense\n", "\n"} {
			if err := os.WriteFile(c.meta(), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			c.launch(t)
			if status := c.end(t); status != 128+int(syscall.SIGABRT) {
				t.Fatalf("with %q it ends with %d; its log: %s", content, status, c.log.String())
			}
			if says := "memcached crashed and has left " + c.meta() + ": the next one starts empty"; !strings.Contains(c.log.String(), says) {
				t.Errorf("the log lacks %q: %s", says, c.log.String())
			}
			c.start(t)
			c.empty(t)
			c.kill()
		}
	})
}

// What is no fault of the items costs none, however often the container is started meanwhile.
func TestAStartThatFailsKeepsTheItems(t *testing.T) {
	each(t, func(t *testing.T, c *container) {
		c.start(t)
		c.fill(t)
		c.stop(t)
		for _, arguments := range [][]string{
			{"-Y", "/nowhere/users"},
			{"-Z", "-o", "ssl_chain_cert=/nowhere/tls.crt,ssl_key=/nowhere/tls.key"},
		} {
			c.launch(t, arguments...)
			if status := c.end(t); status == 0 || status > 128 {
				t.Errorf("with %v it ends with %d", arguments, status)
			}
		}
		image := c.memcached
		c.memcached = t.TempDir()
		c.launch(t)
		if status := c.end(t); status != 127 {
			t.Errorf("without memcached it ends with %d", status)
		}
		c.memcached = image
		c.start(t)
		c.keeps(t)
	})
}

func TestAContainerThatIsStoppedWhileItStartsEnds(t *testing.T) {
	each(t, func(t *testing.T, c *container) {
		c.start(t)
		c.fill(t)
		for _, milliseconds := range []time.Duration{0, 5, 25} {
			c.stop(t)
			c.launch(t)
			select { // The time is what varies, and nothing that has to be waited for.
			case <-c.ended:
			case <-time.After(milliseconds * time.Millisecond):
			}
			_ = c.main.Process.Signal(syscall.SIGTERM)
			c.end(t)
			c.start(t)
			c.keeps(t)
		}
	})
}

func TestTheHookHasNothingToDoWithoutMemcached(t *testing.T) {
	each(t, func(t *testing.T, c *container) {
		c.preStop(t)
		c.start(t)
		c.stop(t)
		c.preStop(t)
	})
}

// The text is in every pod template: it holds what a shell needs, and nothing else.
func TestTheCommandsAreForTheShell(t *testing.T) {
	for name, command := range map[string][]string{"command": entry.Command("/cache/memory"), "hook": entry.PreStop("/cache/memory")} {
		if len(command) != 5 || command[0] != "/bin/sh" || command[1] != "-c" || command[4] != "/cache/memory" {
			t.Errorf("the %s is %q", name, command)
		}
		for line := range strings.Lines(command[2]) {
			if trimmed := strings.TrimSpace(line); trimmed == "" || strings.HasPrefix(trimmed, "#") {
				t.Errorf("the %s has the line %q", name, line)
			}
		}
		script := filepath.Join(t.TempDir(), "script")
		if err := os.WriteFile(script, []byte(command[2]), 0o600); err != nil {
			t.Fatal(err)
		}
		if output, err := exec.Command("/bin/sh", "-n", script).CombinedOutput(); err != nil {
			t.Errorf("the %s: %v: %s", name, err, output)
		}
	}
	if entry.GracePeriodSeconds < 10 {
		t.Error(fmt.Sprint(entry.GracePeriodSeconds), "seconds are too short for memcached to notice, to save, and for the shell to wait")
	}
}
