package memory_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/agent/memcached"
	"github.com/example/memcached-operator/operator/agent/memory"
	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
	"github.com/example/memcached-operator/operator/internal/testkit"
)

// setup is a memcached, and a loop that checks its memory.
type setup struct {
	server *agenttesting.Server
	dialer *memcached.Dialer
	loop   *memory.Loop
	file   string
	log    *testkit.Log
}

// start returns a memcached with a loop that runs.
func start(t *testing.T, run agenttesting.Runner, arguments ...string) *setup {
	t.Helper()
	s := setUp(t, run, arguments...)
	agenttesting.Background(t, s.loop.Run)
	return s
}

// setUp returns a memcached with a loop that does not run yet.
func setUp(t *testing.T, run agenttesting.Runner, arguments ...string) *setup {
	t.Helper()
	file := filepath.Join(t.TempDir(), "cache-memory")
	s := &setup{server: run.Start(t, arguments...), file: file, log: testkit.NewLog(t)}
	s.dialer = memcached.NewDialer(s.server.Address, &api.Certificates{}, &api.Users{})
	s.loop = &memory.Loop{File: s.file, Dialer: s.dialer, Interval: 50 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(s.log, nil))}
	return s
}

// write replaces the file atomically.
func (s *setup) write(t *testing.T, content string) {
	t.Helper()
	if err := os.WriteFile(s.file+".new", []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(s.file+".new", s.file); err != nil {
		t.Fatal(err)
	}
}

func (s *setup) dial(t *testing.T) *memcached.Conn {
	t.Helper()
	conn, err := s.dialer.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func (s *setup) stat(t *testing.T, topic, name string) int64 {
	t.Helper()
	conn := s.dial(t)
	defer conn.Close()
	stats, err := conn.Stats(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	value, err := stats.Int(name)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// awaitMemory waits until memcached holds that much memory, in MiB, and no problem is reported.
func (s *setup) awaitMemory(t *testing.T, mebibytes int64) {
	t.Helper()
	agenttesting.Await(t, fmt.Sprintf("memcached has %d MiB", mebibytes), func() error {
		conn := s.dial(t)
		defer conn.Close()
		general, err := conn.Stats(t.Context(), "")
		if err != nil {
			return err
		}
		slabs, err := conn.Stats(t.Context(), "slabs")
		if err != nil {
			return err
		}
		held, err := memory.Held(general, slabs)
		if err != nil {
			return err
		}
		if problem := s.loop.Problem(); held != mebibytes || problem != "" {
			return fmt.Errorf("%d MiB, %s", held, problem)
		}
		return nil
	})
}

// awaitProblem waits until the loop reports a problem.
func (s *setup) awaitProblem(t *testing.T, says string) {
	t.Helper()
	agenttesting.Await(t, "a problem is reported", func() error {
		if problem := s.loop.Problem(); !strings.Contains(problem, says) {
			return fmt.Errorf("%q, want %q", problem, says)
		}
		return nil
	})
}

// awaitChecks waits until the loop has checked again, that many times.
func (s *setup) awaitChecks(t *testing.T, times int64) {
	t.Helper()
	before, own := s.stat(t, "", "total_connections"), int64(0)
	agenttesting.Await(t, "the loop has checked", func() error {
		own++
		if seen := s.stat(t, "", "total_connections") - before - own; seen < times {
			return fmt.Errorf("%d times", seen)
		}
		return nil
	})
}

func TestMemcachedGetsTheMemoryOfTheFile(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		s := start(t, run, "-m", "64")
		s.write(t, "100\n")
		s.awaitMemory(t, 100)
		s.write(t, "32")
		s.awaitMemory(t, 32)
		s.write(t, "")
		s.awaitMemory(t, 32)
		s.server.Stop(syscall.SIGTERM)
		s.write(t, "48")
		s.server.Restart(t)
		s.awaitMemory(t, 48)
		if err := os.Remove(s.file); err != nil {
			t.Fatal(err)
		}
		s.server.Stop(syscall.SIGTERM)
		s.server.Restart(t)
		s.awaitMemory(t, 64)
		if lines := s.log.Count("was changed"); lines != 3 {
			t.Errorf("%d lines about 3 changes", lines)
		}
		if lines := s.log.Count("level=ERROR"); lines != 0 {
			t.Errorf("%d lines about failures", lines)
		}
	})
}

// It begins with the memory of its arguments, which can be more than the container may have by now.
func TestARestartedMemcachedGetsTheMemoryOfTheFileAtOnce(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		s := setUp(t, run, "-m", "128")
		s.loop.Interval = time.Hour
		s.write(t, "32")
		agenttesting.Background(t, s.loop.Run)
		s.awaitMemory(t, 32)
		for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
			s.server.Stop(signal)
			s.server.Restart(t)
			s.awaitMemory(t, 32)
		}
	})
}

// Only then may the limit of the container be lowered.
func TestAFullMemcachedReleasesMemoryAboveItsLimit(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		run.Environment = []string{"MALLOC_MMAP_THRESHOLD_=524288"} // As in a pod.
		s := start(t, run, "-m", "64")
		for range 2 { // glibc fails to return memory the second time.
			s.write(t, "64")
			s.awaitMemory(t, 64)
			s.fill(t, 70_000, 1000)
			s.fill(t, 100, 100_000)
			if taken := s.stat(t, "slabs", "total_malloced") >> 20; taken < 64 {
				t.Fatalf("memcached is not full: %d MiB", taken)
			}
			s.write(t, "16")
			s.awaitMemory(t, 16)
			if taken := s.stat(t, "slabs", "total_malloced") >> 20; taken > 16+39 {
				t.Errorf("memcached has %d MiB", taken)
			}
			agenttesting.Await(t, "the memory is returned to the system", func() error {
				if resident := s.resident(t); resident > 40 {
					return fmt.Errorf("%d MiB are resident", resident)
				}
				return nil
			})
			if items := s.stat(t, "", "curr_items"); items < 12_000 {
				t.Errorf("%d items of 1 kB are left in 16 MiB", items)
			}
		}
	})
}

func (s *setup) fill(t *testing.T, items, bytes int) {
	t.Helper()
	conn := s.dial(t)
	value := strings.Repeat("v", bytes)
	for i := range items {
		if _, err := fmt.Fprintf(conn, "set %d-%d 0 0 %d noreply\r\n%s\r\n", bytes, i, bytes, value); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Version(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// resident returns how much memory memcached has, in MiB.
func (s *setup) resident(t *testing.T) int {
	t.Helper()
	process, err := procfs.NewProc(s.server.PID())
	if err != nil {
		t.Skip("no /proc: ", err)
	}
	stat, err := process.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return stat.ResidentMemory() >> 20
}

func TestAnInvalidFileChangesNothing(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		s := start(t, run, "-m", "64")
		for content, says := range map[string]string{
			"7":                   "takes no less than 8: write 8 or more",
			"-1":                  "takes no less than 8",
			"64Mi":                "write a whole number of MiB",
			"2000000000":          "megabytes not bytes",
			"9999999999999999999": "write a whole number of MiB",
		} {
			s.write(t, content)
			s.awaitProblem(t, says)
		}
		if limit := s.stat(t, "", "limit_maxbytes") >> 20; limit != 64 {
			t.Errorf("memcached has %d MiB", limit)
		}
		s.write(t, "80")
		s.awaitMemory(t, 80)
	})
}

func TestARefusalIsReportedOnce(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		s := start(t, run, "-m", "64", "-e", filepath.Join(t.TempDir(), "memory"))
		s.write(t, "100")
		s.awaitProblem(t, "memcached cannot have 100 MiB while it runs, which -e and -L rule out: restart it with that -m")
		s.awaitChecks(t, 3)
		s.write(t, "101")
		s.awaitProblem(t, "101 MiB")
		s.awaitChecks(t, 3)
		s.write(t, "64")
		s.awaitMemory(t, 64)
		if lines := s.log.Count("level=ERROR"); lines != 2 {
			t.Errorf("%d lines about 2 failures", lines)
		}
	})
}
