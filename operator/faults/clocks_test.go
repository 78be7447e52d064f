//go:build faults

package faults_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"github.com/example/memcached-operator/operator/faults/inject"
)

// skewed is a clock that is ahead of that of the machine.
type skewed struct {
	clock.RealClock
	ahead time.Duration
	reads atomic.Int64
}

// Now implements clock.PassiveClock.
func (s *skewed) Now() time.Time {
	s.reads.Add(1)
	return s.RealClock.Now().Add(s.ahead)
}

// Since implements clock.PassiveClock.
func (s *skewed) Since(then time.Time) time.Duration { return s.Now().Sub(then) }

// clocks returns F11: the clock of the process is not that of the cluster.
func clocks(w *workload) (all []*plan) {
	for name, ahead := range map[string]time.Duration{"ahead": time.Minute, "behind": -time.Minute} {
		all = append(all, &plan{class: "F11", name: name, workload: w, where: "clock", sparesPods: true, arm: func(s *scene) func() int {
			wrong := &skewed{ahead: ahead}
			s.options.Clock = wrong
			return func() int { return int(wrong.reads.Load()) }
		}})
	}
	return all
}

// podWrites counts the requests of a run that have changed a pod, by what they do. Names of pods are left out, as they differ between runs.
func podWrites(records []inject.Record) map[string]int {
	counts := map[string]int{}
	for _, record := range records {
		if record.Writes() && record.Resource() == "pods" && record.Code >= 200 && record.Code < 300 {
			what := record.Verb + " pods"
			if parts := strings.Split(record.Object, "/"); len(parts) == 3 {
				what += "/" + parts[2]
			}
			counts[what]++
		}
	}
	return counts
}

// morePodWrites says what was done to pods more often than in the runs without faults.
func morePodWrites(counts map[string]int, without []map[string]int) (all []string) {
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		most := 0
		for _, run := range without {
			most = max(most, run[what])
		}
		if counts[what] > most {
			all = append(all, fmt.Sprintf("O7: %s: %d requests, without a fault at most %d", what, counts[what], most))
		}
	}
	return all
}
