//go:build faults

package faults_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/example/memcached-operator/operator/faults/inject"
	"github.com/example/memcached-operator/operator/faults/oracle"
)

// baselineRuns is how often each workload runs without faults.
const baselineRuns = 3

// baseline is what a workload does without faults.
type baseline struct {
	States []oracle.State
	Counts []oracle.Counts
	Calls  []inject.Call // Those that all runs have.
	Most   int           // The most requests of a run.

	PodWrites []map[string]int // What podWrites returns for each run.

	fields oracle.Baseline
}

// recordBaselines runs all workloads that are needed, without faults.
func recordBaselines(t *testing.T, f *feed) map[string]*baseline {
	var mutex sync.Mutex
	baselines := map[string]*baseline{}
	ok := t.Run("baselines", func(t *testing.T) {
		for _, w := range needed() {
			t.Run(w.name, func(t *testing.T) {
				t.Parallel()
				b := recordBaseline(t, f, w)
				t.Log(b)
				mutex.Lock()
				defer mutex.Unlock()
				baselines[w.name] = b
			})
		}
	})
	if !ok {
		t.FailNow()
	}
	return baselines
}

// readBaselines reads what another program has recorded.
func readBaselines(file string) (baselines map[string]*baseline, err error) {
	content, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(content, &baselines)
	}
	for _, b := range baselines {
		b.fields = oracle.NewBaseline(b.States...)
	}
	return baselines, err
}

// recordBaseline runs a workload without faults.
func recordBaseline(t *testing.T, f *feed, w *workload) *baseline {
	t.Helper()
	b, calls := &baseline{}, map[inject.Call]int{}
	for range baselineRuns {
		s := newScene(t, f, w)
		if err := s.play(w); err != nil {
			t.Fatal(err)
		}
		quiet := s.quiet(2 * time.Second)
		if err := s.await(func(s *scene) error { return errors.Join(quiet(s), current(s)) }); err != nil {
			t.Fatal(err)
		}
		if found := append(s.violations(), s.forbidden()...); len(found) > 0 {
			t.Fatal(strings.Join(found, "\n"))
		}
		b.States, b.Counts = append(b.States, s.history.State(s.namespace)), append(b.Counts, s.history.Counts())
		records := s.injector.Records()
		b.Most, b.PodWrites = max(b.Most, len(records)), append(b.PodWrites, podWrites(records))
		for _, record := range records {
			calls[record.Call]++
		}
		s.end()
	}
	b.fields = oracle.NewBaseline(b.States...)
	for _, call := range slices.SortedFunc(maps.Keys(calls), func(a, b inject.Call) int { return strings.Compare(a.String(), b.String()) }) {
		if calls[call] == baselineRuns {
			b.Calls = append(b.Calls, call)
		}
	}
	return b
}

func (b *baseline) String() string {
	return fmt.Sprintf("%d calls in common, %d at most\nmasked: %s\ncalls: %v", len(b.Calls), b.Most, strings.Join(b.fields.Masked(), "\n\t"), b.Calls)
}
