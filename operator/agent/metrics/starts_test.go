package metrics_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/agent/memcached"
	"github.com/example/memcached-operator/operator/agent/metrics"
	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
)

// fake is a memcached with a memory file.
type fake map[string]string

func (f fake) Stats(_ context.Context, topic string) (memcached.Stats, error) {
	if topic == "settings" {
		return memcached.Stats{"memory_file": f["memory_file"]}, nil
	}
	return memcached.Stats(f), nil
}

// statistics returns those of a memcached that has run for a while, with changes in pairs of name and value.
func statistics(changes ...string) fake {
	f := fake{
		"pid": "1", "rusage_user": "4.0", "rusage_system": "2.0", "time": "1000", "uptime": "100", "curr_items": "50", "total_items": "80",
		"cmd_set": "80", "incr_hits": "0", "incr_misses": "0", "decr_hits": "0", "decr_misses": "0", "memory_file": "/cache/memory",
	}
	for i := 0; i < len(changes); i += 2 {
		f[changes[i]] = changes[i+1]
	}
	return f
}

func TestAStartShowsInTheStatistics(t *testing.T) {
	for name, test := range map[string]struct {
		second fake
		want   *metrics.Start
	}{
		"none while time goes by":          {statistics("rusage_user", "4.1", "uptime", "110", "cmd_set", "90"), nil},
		"none when nothing moved":          {statistics(), nil},
		"none after stats reset":           {statistics("rusage_user", "4.1", "uptime", "110", "cmd_set", "0", "total_items", "0"), nil},
		"cold with less uptime":            {statistics("rusage_user", "9.0", "time", "1010", "uptime", "2", "total_items", "3", "cmd_set", "3"), &metrics.Start{Before: 50, At: time.Unix(1008, 0)}},
		"warm with less CPU time":          {statistics("rusage_user", "0.1", "rusage_system", "0.1", "time", "1010", "uptime", "110", "cmd_set", "5", "total_items", "53"), &metrics.Start{Warm: true, Before: 50, Restored: 48, At: time.Unix(1010, 0)}},
		"warm with another process ID":     {statistics("pid", "9", "rusage_user", "5", "time", "1010", "uptime", "110", "cmd_set", "0", "total_items", "50"), &metrics.Start{Warm: true, Before: 50, Restored: 50, At: time.Unix(1010, 0)}},
		"cold without a memory file":       {statistics("pid", "9", "time", "1010", "uptime", "3", "cmd_set", "0", "total_items", "1", "memory_file", "(null)"), &metrics.Start{Before: 50, At: time.Unix(1007, 0)}},
		"cold when stores failed":          {statistics("pid", "9", "time", "1010", "uptime", "3", "cmd_set", "9", "total_items", "1"), &metrics.Start{Before: 50, At: time.Unix(1007, 0)}},
		"cold when counting created":       {statistics("pid", "9", "time", "1010", "uptime", "3", "cmd_set", "0", "incr_misses", "3", "decr_hits", "2", "total_items", "5"), &metrics.Start{Before: 50, At: time.Unix(1007, 0)}},
		"cold with an uptime that went on": {statistics("pid", "9", "time", "1010", "uptime", "110", "cmd_set", "0", "total_items", "0"), &metrics.Start{Before: 50, At: time.Unix(1010, 0)}},
	} {
		t.Run(name, func(t *testing.T) {
			history, err := metrics.OpenHistory(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			first, err := history.Check(t.Context(), statistics())
			if err != nil || first == nil || first.Warm {
				t.Fatalf("the first check finds %v, %v", first, err)
			}
			got, err := history.Check(t.Context(), test.second)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if last, known := history.Last(); got != nil && (!known || last != *got) {
				t.Errorf("the last start is %v, %v", last, known)
			}
		})
	}
}

// While memcached adds up its counters, clients go on storing: items can be counted that are not among the stores of the same
// answer.
func TestStoresDuringTheCheckAreNotRestoredItems(t *testing.T) {
	busy := &busy{}
	history, err := metrics.OpenHistory(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if start, err := history.Check(t.Context(), busy); err != nil || start.Warm {
		t.Errorf("the start is %v, %v", start, err)
	}
}

type busy struct {
	stored int
}

func (b *busy) Stats(ctx context.Context, topic string) (memcached.Stats, error) {
	b.stored += 10
	return statistics("cmd_set", fmt.Sprint(b.stored), "total_items", fmt.Sprint(b.stored+5)).Stats(ctx, topic)
}

// Several checks can overlap, and the first to begin can be the last to be answered.
func TestOverlappingChecksFindNoStart(t *testing.T) {
	history, err := metrics.OpenHistory(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var found, answers atomic.Int64
	var all sync.WaitGroup
	source := &working{t: &answers}
	for range 8 {
		all.Go(func() {
			for range 50 {
				start, err := history.Check(t.Context(), source)
				if err != nil {
					t.Error(err)
				}
				if start != nil {
					found.Add(1)
				}
			}
		})
	}
	all.Wait()
	if found.Load() != 1 {
		t.Errorf("%d starts are found of a memcached that was not restarted", found.Load())
	}
}

// working is a memcached that uses processor time for every answer.
type working struct {
	t *atomic.Int64
}

func (w *working) Stats(ctx context.Context, topic string) (memcached.Stats, error) {
	return statistics("rusage_user", fmt.Sprint(w.t.Add(1))).Stats(ctx, topic)
}

func TestTheHistoryOutlivesTheAgent(t *testing.T) {
	directory := t.TempDir()
	for _, look := range []fake{statistics(), statistics("pid", "2", "cmd_set", "0", "total_items", "49")} {
		history, err := metrics.OpenHistory(directory)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := history.Check(t.Context(), look); err != nil {
			t.Fatal(err)
		}
	}
	history, err := metrics.OpenHistory(directory)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"memcached_agent_items_before_start 50",
		"memcached_agent_items_restored 49",
		`memcached_agent_starts_total{kind="cold"} 1`,
		`memcached_agent_starts_total{kind="warm"} 1`,
	}
	if diff := cmp.Diff(want, shown(t, history)); diff != "" {
		t.Error(diff)
	}
}

func shown(t *testing.T, history *metrics.History) []string {
	t.Helper()
	registry := prometheus.NewRegistry()
	if err := registry.Register(prometheus.CollectorFunc(history.Collect)); err != nil {
		t.Fatal(err)
	}
	return agenttesting.Metrics(t, registry)
}

func TestABrokenHistoryIsReplaced(t *testing.T) {
	directory := t.TempDir()
	if err := os.WriteFile(filepath.Join(directory, "starts.json"), []byte(`{"warm": 3, "last"`), 0o600); err != nil {
		t.Fatal(err)
	}
	history, err := metrics.OpenHistory(directory)
	if err == nil || !strings.Contains(err.Error(), "begins anew") {
		t.Errorf("the error is %v", err)
	}
	if metrics := shown(t, history); len(metrics) != 0 {
		t.Errorf("before the first check, there is %v", metrics)
	}
	if start, err := history.Check(t.Context(), statistics()); err != nil || start == nil {
		t.Errorf("the first check finds %v, %v", start, err)
	}
}

func TestInvalidStatisticsAreAnError(t *testing.T) {
	history, err := metrics.OpenHistory(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if start, err := history.Check(t.Context(), statistics("total_items", "many")); err == nil || start != nil {
		t.Errorf("it finds %v, %v", start, err)
	}
}

func TestAMemcachedThatKeepsItsItemsStartsWarm(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		server := run.Start(t, "-m", "64", "-e", filepath.Join(t.TempDir(), "memory"))
		history, err := metrics.OpenHistory(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		check := func(items int) *metrics.Start {
			t.Helper()
			conn, err := memcached.NewDialer(server.Address, &api.Certificates{}, &api.Users{}).Dial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			for i := range items {
				if _, err := fmt.Fprintf(conn, "set key-%d 0 0 5 noreply\r\nvalue\r\n", i); err != nil {
					t.Fatal(err)
				}
			}
			start, err := history.Check(t.Context(), conn)
			if err != nil {
				t.Fatal(err)
			}
			if start != nil && time.Since(start.At).Abs() > 15*time.Second {
				t.Errorf("it is said to have started at %s", start.At)
			}
			return start
		}
		if diff := cmp.Diff(&metrics.Start{}, check(0), undated); diff != "" {
			t.Errorf("the first start: %s", diff)
		}
		if start := check(300); start != nil {
			t.Errorf("a start without a restart: %v", start)
		}
		server.Stop(syscall.SIGUSR1)
		server.RestartWarm(t)
		if diff := cmp.Diff(&metrics.Start{Warm: true, Before: 300, Restored: 300}, check(0), undated); diff != "" {
			t.Errorf("the second start: %s", diff)
		}
		server.Stop(syscall.SIGTERM)
		server.Restart(t)
		if diff := cmp.Diff(&metrics.Start{Before: 300}, check(0), undated); diff != "" {
			t.Errorf("the third start: %s", diff)
		}
	})
}

// undated ignores the time of a start, which is checked separately.
var undated = cmpopts.IgnoreFields(metrics.Start{}, "At")
