package metrics_test

import (
	"context"
	"errors"
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

// fake is a memcached.
type fake struct {
	statistics memcached.Stats
	run        memcached.Run
}

func (f fake) Stats(context.Context, string) (memcached.Stats, error) { return f.statistics, nil }

// find returns the run of the memcached that was asked last.
func (f *fake) find(int64) (memcached.Run, error) { return f.run, nil }

// process returns a memcached that has run for age.
func process(id, uptime, items string, age time.Duration) fake {
	return fake{memcached.Stats{"pid": id, "uptime": uptime, "curr_items": items}, memcached.Run{ID: "boot/1/" + id, Age: age}}
}

func TestAStartShowsInTheRun(t *testing.T) {
	reboot := process("7", "2", "0", 0)
	reboot.run.ID = "another boot/1/7"
	for name, test := range map[string]struct {
		second fake
		want   *metrics.Start
	}{
		"none while time goes by":            {process("7", "122", "60", 120*time.Second), nil},
		"none when the uptime is reset":      {process("7", "2", "60", 120*time.Second), nil},
		"cold with a young uptime":           {process("8", "4", "3", 2*time.Second), &metrics.Start{Before: 50}},
		"cold at most":                       {process("8", "5", "3", 2*time.Second), &metrics.Start{Before: 50}},
		"cold a day later":                   {process("8", "86402", "3", 86400*time.Second), &metrics.Start{Before: 50}},
		"cold with the same ID after reboot": {reboot, &metrics.Start{Before: 50}},
		"warm with an old uptime":            {process("8", "110", "48", 2*time.Second), &metrics.Start{Warm: true, Before: 50, Restored: 48}},
		"warm after a short life":            {process("8", "4", "48", 80*time.Millisecond), &metrics.Start{Warm: true, Before: 50, Restored: 48}},
		"warm a day later":                   {process("8", "86450", "48", 86400*time.Second), &metrics.Start{Warm: true, Before: 50, Restored: 48}},
		"warm without items":                 {process("8", "110", "0", 2*time.Second), &metrics.Start{Warm: true, Before: 50}},
	} {
		t.Run(name, func(t *testing.T) {
			began, now := time.Now(), process("7", "102", "50", 100*time.Second)
			history, err := metrics.OpenHistory(t.TempDir(), func(id int64) (memcached.Run, error) { return now.find(id) })
			if err != nil {
				t.Fatal(err)
			}
			first, err := history.Check(t.Context(), now)
			if err != nil || first == nil || first.Warm {
				t.Fatalf("the first check finds %v, %v", first, err)
			}
			now = test.second
			got, err := history.Check(t.Context(), now)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, undated); diff != "" {
				t.Error(diff)
			}
			if got != nil {
				startedBetween(t, got, began.Add(-now.run.Age), time.Now().Add(-now.run.Age))
			}
			if last, known := history.Last(); got != nil && (!known || last != *got) {
				t.Errorf("the last start is %v, %v", last, known)
			}
		})
	}
}

// startedBetween fails the test if a start was not between two times. It is known to the second.
func startedBetween(t *testing.T, start *metrics.Start, earliest, latest time.Time) {
	t.Helper()
	if start.At.Before(earliest.Add(-time.Second)) || start.At.After(latest.Add(time.Second)) {
		t.Errorf("it is said to have started at %s, and did between %s and %s", start.At, earliest, latest)
	}
}

// Several checks can overlap, and the first to begin can be the last to be answered.
func TestOverlappingChecksFindNoStart(t *testing.T) {
	history, err := metrics.OpenHistory(t.TempDir(), func(int64) (memcached.Run, error) { return memcached.Run{ID: "run"}, nil })
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

// working is a memcached that is older with every answer.
type working struct {
	t *atomic.Int64
}

func (w *working) Stats(ctx context.Context, topic string) (memcached.Stats, error) {
	return process("7", fmt.Sprint(w.t.Add(1)), "50", 0).Stats(ctx, topic)
}

func TestTheHistoryOutlivesTheAgent(t *testing.T) {
	directory := t.TempDir()
	for _, look := range []fake{process("7", "102", "50", 100*time.Second), process("8", "110", "49", time.Second)} {
		history, err := metrics.OpenHistory(directory, look.find)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := history.Check(t.Context(), look); err != nil {
			t.Fatal(err)
		}
	}
	history, err := metrics.OpenHistory(directory, nil)
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
	now := process("7", "102", "50", 100*time.Second)
	history, err := metrics.OpenHistory(directory, now.find)
	if err == nil || !strings.Contains(err.Error(), "begins anew") {
		t.Errorf("the error is %v", err)
	}
	if metrics := shown(t, history); len(metrics) != 0 {
		t.Errorf("before the first check, there is %v", metrics)
	}
	if start, err := history.Check(t.Context(), now); err != nil || start == nil {
		t.Errorf("the first check finds %v, %v", start, err)
	}
}

// An agent before 0.4.0 wrote the file, and no run.
func TestTheFileOfAnOlderAgentIsRead(t *testing.T) {
	directory := t.TempDir()
	content := `{"last":{"pid":7,"processor":6,"time":1000,"uptime":90,"items":50,"restored":48},"warm":1,"cold":1,"before":50,"restored":48,"since":910}`
	if err := os.WriteFile(filepath.Join(directory, "starts.json"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	now := process("7", "102", "50", 100*time.Second)
	history, err := metrics.OpenHistory(directory, func(id int64) (memcached.Run, error) { return now.find(id) })
	if err != nil {
		t.Fatal(err)
	}
	if start, err := history.Check(t.Context(), now); start != nil || err != nil {
		t.Errorf("the same process is a start: %v, %v", start, err)
	}
	if last, known := history.Last(); !known || !last.Warm || last.Restored != 48 {
		t.Errorf("the last start is %v, %v", last, known)
	}
	now = process("8", "110", "48", time.Second)
	if start, err := history.Check(t.Context(), now); start == nil || !start.Warm || err != nil {
		t.Errorf("the next start is %v, %v", start, err)
	}
}

func TestWhatIsNotKnownIsAnError(t *testing.T) {
	invisible := errors.New("no such process")
	for name, test := range map[string]struct {
		now  fake
		find error
	}{
		"invalid statistics":       {now: process("7", "102", "many", 0)},
		"a process that is unseen": {now: process("7", "102", "50", 0), find: invisible},
	} {
		t.Run(name, func(t *testing.T) {
			history, err := metrics.OpenHistory(t.TempDir(), func(int64) (memcached.Run, error) { return test.now.run, test.find })
			if err != nil {
				t.Fatal(err)
			}
			if start, err := history.Check(t.Context(), test.now); err == nil || start != nil {
				t.Errorf("it finds %v, %v", start, err)
			}
			if _, known := history.Last(); known {
				t.Error("a start is known")
			}
		})
	}
}

func TestAMemcachedThatKeepsItsItemsStartsWarm(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		began := time.Now()
		server := run.Start(t, "-m", "64", "-e", filepath.Join(t.TempDir(), "memory"))
		history, err := metrics.OpenHistory(t.TempDir(), memcached.Process{Name: server.Name, Directory: "/proc"}.Run)
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
			if start != nil {
				startedBetween(t, start, began, time.Now())
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

// undated ignores the time and the run of a start, which are checked separately.
var undated = cmpopts.IgnoreFields(metrics.Start{}, "At", "Run")
