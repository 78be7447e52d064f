package memory_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/agent/memcached"
	"github.com/example/memcached-operator/operator/agent/memory"
	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
	"github.com/example/memcached-operator/operator/internal/testkit"
)

// story is a memcached, and a loop that looks after its memory.
type story struct {
	server *agenttesting.Server
	dialer *memcached.Dialer
	loop   *memory.Loop
	file   string
	log    *testkit.Log
}

func tell(t *testing.T, run agenttesting.Runner, arguments ...string) *story {
	t.Helper()
	file := filepath.Join(t.TempDir(), "cache-memory")
	s := &story{server: run.Start(t, arguments...), file: file, log: testkit.NewLog(t)}
	s.dialer = memcached.NewDialer(s.server.Address, &api.Certificates{}, &api.Users{})
	s.loop = &memory.Loop{File: s.file, Dialer: s.dialer, Interval: 50 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(s.log, nil))}
	agenttesting.Background(t, s.loop.Run)
	return s
}

// ask writes the file in one step.
func (s *story) ask(t *testing.T, content string) {
	t.Helper()
	if err := os.WriteFile(s.file+".new", []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(s.file+".new", s.file); err != nil {
		t.Fatal(err)
	}
}

func (s *story) dial(t *testing.T) *memcached.Conn {
	t.Helper()
	conn, err := s.dialer.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func (s *story) stat(t *testing.T, topic, name string) int64 {
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

// has waits until memcached's limit is as many MiB, and nothing is reported.
func (s *story) has(t *testing.T, mebibytes int64) {
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

// stuck waits until the loop reports a problem.
func (s *story) stuck(t *testing.T, says string) {
	t.Helper()
	agenttesting.Await(t, "a problem is reported", func() error {
		if problem := s.loop.Problem(); !strings.Contains(problem, says) {
			return fmt.Errorf("%q, want %q", problem, says)
		}
		return nil
	})
}

// looks waits until the loop has looked again, some times.
func (s *story) looks(t *testing.T, times int64) {
	t.Helper()
	before, own := s.stat(t, "", "total_connections"), int64(0)
	agenttesting.Await(t, "the loop has looked", func() error {
		own++
		if seen := s.stat(t, "", "total_connections") - before - own; seen < times {
			return fmt.Errorf("%d times", seen)
		}
		return nil
	})
}

func TestMemcachedHasWhatTheFileAsksFor(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		s := tell(t, run, "-m", "64")
		s.ask(t, "100\n")
		s.has(t, 100)
		s.ask(t, "32")
		s.has(t, 32)
		s.ask(t, "")
		s.has(t, 32)
		s.server.Stop(syscall.SIGTERM)
		s.ask(t, "48")
		s.server.Restart(t)
		s.has(t, 48)
		if err := os.Remove(s.file); err != nil {
			t.Fatal(err)
		}
		s.server.Stop(syscall.SIGTERM)
		s.server.Restart(t)
		s.has(t, 64)
		if lines := s.log.Count("was changed"); lines != 3 {
			t.Errorf("%d lines about 3 changes", lines)
		}
		if lines := s.log.Count("level=ERROR"); lines != 0 {
			t.Errorf("%d lines about failures", lines)
		}
	})
}

// Only then may the limit of the container follow.
func TestAFullMemcachedGivesBackWhatItHasBeyondItsLimit(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		run.Environment = []string{"MALLOC_MMAP_THRESHOLD_=524288"} // As a pod needs it.
		s := tell(t, run, "-m", "64")
		for range 2 { // The second time is the one that glibc is bad at.
			s.ask(t, "64")
			s.has(t, 64)
			s.fill(t, 70_000, 1000)
			s.fill(t, 100, 100_000)
			if taken := s.stat(t, "slabs", "total_malloced") >> 20; taken < 64 {
				t.Fatalf("memcached is not full: %d MiB", taken)
			}
			s.ask(t, "16")
			s.has(t, 16)
			if taken := s.stat(t, "slabs", "total_malloced") >> 20; taken > 16+39 {
				t.Errorf("memcached keeps %d MiB", taken)
			}
			agenttesting.Await(t, "the system has the memory", func() error {
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

func (s *story) fill(t *testing.T, items, bytes int) {
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
func (s *story) resident(t *testing.T) int64 {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.server.PID()))
	if err != nil {
		t.Skip("no /proc: ", err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(data))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize()) >> 20
}

func TestAMistakeInTheFileChangesNothing(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		s := tell(t, run, "-m", "64")
		for content, says := range map[string]string{
			"7":                   "takes no less than 8: write 8 or more",
			"-1":                  "takes no less than 8",
			"64Mi":                "write a whole number of MiB",
			"2000000000":          "megabytes not bytes",
			"9999999999999999999": "write a whole number of MiB",
		} {
			s.ask(t, content)
			s.stuck(t, says)
		}
		if limit := s.stat(t, "", "limit_maxbytes") >> 20; limit != 64 {
			t.Errorf("memcached has %d MiB", limit)
		}
		s.ask(t, "80")
		s.has(t, 80)
	})
}

func TestAMemcachedWithAMemoryFileSaysSoOnce(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		s := tell(t, run, "-m", "64", "-e", filepath.Join(t.TempDir(), "memory"))
		s.ask(t, "100")
		s.stuck(t, "memcached cannot have 100 MiB while it runs, which -e and -L rule out: restart it with that -m")
		s.looks(t, 3)
		s.ask(t, "101")
		s.stuck(t, "101 MiB")
		s.looks(t, 3)
		s.ask(t, "64")
		s.has(t, 64)
		if lines := s.log.Count("level=ERROR"); lines != 2 {
			t.Errorf("%d lines about 2 failures", lines)
		}
	})
}
