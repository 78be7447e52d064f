package metrics

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// record is the content of the file.
type record struct {
	Last     *sample `json:"last,omitempty"`
	Warm     int64   `json:"warm"`
	Cold     int64   `json:"cold"`
	Before   int64   `json:"before"`
	Restored int64   `json:"restored"`
	Since    int64   `json:"since"`
}

// Start is a start of memcached.
type Start struct {
	Warm     bool      // Whether memcached had items from before.
	Before   int64     // How many items it had at the last check before the start, 0 if there was none.
	Restored int64     // How many items from before it had at the first check after the start.
	At       time.Time // When it started, in whole seconds, or the first check after the start, if memcached does not tell.
}

// History finds out how memcached was started: warm, with items from before, or cold, without any. memcached does not report
// it, so the history compares samples of its statistics. It keeps the result in a file, so that it outlives the agent.
//
// What can be known, and what cannot (seen with 1.6.18 and 1.6.45):
//
//   - A memcached that restored items counts them in total_items, but counts no store for each: total_items minus the stores is
//     the number of restored items. It is exact right after the start, and a lower bound later, because stores that failed
//     count as well. One thing distorts it: items that the meta get command creates (mg with the flag N) count as restored, if
//     memcached was started with a memory file.
//   - Without a memory file (-e), every start is cold.
//   - A warm start of a memcached that had no items looks like a cold one, and counts as one: no item was kept.
//   - uptime goes on across a warm start, and in a process namespace of its own memcached always has the ID 1. So a start
//     shows as another process ID, less processor time, or less uptime than before. "stats reset" changes none of them. A warm
//     start of a memcached that had hardly done anything, in a process namespace of its own, is missed.
//   - memcached does not tell when a warm start was: uptime goes on. Its time is that of the first check after it.
//   - Two starts between two checks count as one.
//   - The number of items before the start is that of the last check, not of the moment when memcached stopped.
type History struct {
	path     string
	checking sync.Mutex // Samples have to be compared in the order in which they were taken.

	mutex  sync.Mutex
	record record
}

// OpenHistory reads the history in directory, which is empty at first. A file that is no history is replaced by an empty one,
// and the error says so: the History is usable nevertheless.
func OpenHistory(directory string) (*History, error) {
	h := &History{path: filepath.Join(directory, "starts.json")}
	data, err := os.ReadFile(h.path)
	if errors.Is(err, os.ErrNotExist) {
		return h, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &h.record)
	}
	if err != nil {
		h.record = record{}
		return h, fmt.Errorf("the count of memcached's starts begins anew: read %s: %w", h.path, err)
	}
	return h, nil
}

// Check takes a sample. It returns the start that the sample shows, or nil. It can return a start and an error if the file
// cannot be written: the start then counts until the agent ends.
func (h *History) Check(ctx context.Context, source Source) (*Start, error) {
	h.checking.Lock()
	defer h.checking.Unlock()
	s, err := take(ctx, source)
	if err != nil {
		return nil, err
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	var start *Start
	if h.record.Last == nil || s.after(*h.record.Last) {
		start = startBetween(h.record.Last, s)
		if start.Warm {
			h.record.Warm++
		} else {
			h.record.Cold++
		}
		h.record.Before, h.record.Restored, h.record.Since = start.Before, start.Restored, start.At.Unix()
	}
	h.record.Last = &s
	return start, h.write()
}

// startBetween returns the start between two samples; the first is nil if there is none.
func startBetween(last *sample, s sample) *Start {
	start := &Start{Warm: s.Restored > 0, Restored: s.Restored}
	at := s.Time - s.Uptime
	if last != nil {
		start.Before = last.Items
	}
	// The uptime goes on across a start with a memory file, so it may reach back to before the last sample.
	if start.Warm || last != nil && at < last.Time {
		at = s.Time
	}
	start.At = time.Unix(at, 0)
	return start
}

// Last returns the last start, false before the first check.
func (h *History) Last() (Start, bool) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	r := h.record
	return Start{Warm: r.Restored > 0, Before: r.Before, Restored: r.Restored, At: time.Unix(r.Since, 0)}, r.Last != nil
}

// write replaces the file atomically.
func (h *History) write() error {
	data, err := json.Marshal(h.record)
	if err == nil {
		err = os.WriteFile(h.path+".new", data, 0o600)
	}
	if err == nil {
		err = os.Rename(h.path+".new", h.path)
	}
	if err != nil {
		return fmt.Errorf("remember memcached's starts: %w", err)
	}
	return nil
}

var (
	startsTotal = prometheus.NewDesc("memcached_agent_starts_total",
		"Starts of memcached in this pod: kind warm if items of before were there, cold if none was.", []string{"kind"}, nil)
	itemsBefore = prometheus.NewDesc("memcached_agent_items_before_start",
		"Items that memcached held when it was last looked at before its last start.", nil, nil)
	itemsRestored = prometheus.NewDesc("memcached_agent_items_restored",
		"Items of before that memcached had after its last start; a lower bound.", nil, nil)
)

// Collect collects the metrics about starts. Before the first check there are none.
func (h *History) Collect(collected chan<- prometheus.Metric) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.record.Last == nil {
		return
	}
	collected <- prometheus.MustNewConstMetric(startsTotal, prometheus.CounterValue, float64(h.record.Warm), "warm")
	collected <- prometheus.MustNewConstMetric(startsTotal, prometheus.CounterValue, float64(h.record.Cold), "cold")
	collected <- prometheus.MustNewConstMetric(itemsBefore, prometheus.GaugeValue, float64(h.record.Before))
	collected <- prometheus.MustNewConstMetric(itemsRestored, prometheus.GaugeValue, float64(h.record.Restored))
}
