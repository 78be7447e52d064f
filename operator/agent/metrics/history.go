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

	"github.com/example/memcached-operator/operator/agent/memcached"
)

// record is the content of the file.
type record struct {
	Last     *sample `json:"last,omitempty"`
	Warm     int64   `json:"warm"`
	Cold     int64   `json:"cold"`
	LastWarm bool    `json:"lastWarm"`
	Before   int64   `json:"before"`
	Restored int64   `json:"restored"`
	Since    int64   `json:"since"`
}

// check returns an error if an agent cannot have written a record: the operator takes no such numbers.
func (r record) check() error {
	if min(r.Warm, r.Cold, r.Before, r.Restored, r.Since) < 0 {
		return errors.New("a number is negative")
	}
	if time.Unix(r.Since, 0).UTC().Year() > 9999 {
		return fmt.Errorf("the last start was %d seconds after 1970", r.Since)
	}
	return nil
}

// Start is a start of memcached.
type Start struct {
	Warm     bool      // Whether memcached went on with the memory of before.
	Before   int64     // How many items it had at the last check before the start, 0 if there was none.
	Restored int64     // How many items it had at the first check after a warm start, 0 after a cold one.
	At       time.Time // When the process started, in whole seconds.
	Run      string    // The run that began with it, see memcached.Run.
}

// FindRun returns the run of memcached with a process ID: see memcached.Process.
type FindRun func(pid int64) (memcached.Run, error)

// History finds out how memcached was started: warm, with the memory of before, or cold, empty. memcached does not report it, but
// its uptime goes on across a warm start, and its process is young: see mostColdLead. The history keeps the result in a file, so
// that it outlives the agent.
//
// Two starts between two checks count as one. The number of items before the start is that of the last check, not of the moment
// when memcached stopped.
type History struct {
	path     string
	find     FindRun
	checking sync.Mutex // Samples have to be compared in the order in which they were taken.

	mutex  sync.Mutex
	record record
}

// OpenHistory reads the history in directory, which is empty at first. A file that is no history is replaced by an empty one,
// and the error says so: the History is usable nevertheless.
func OpenHistory(directory string, find FindRun) (*History, error) {
	h := &History{path: filepath.Join(directory, "starts.json"), find: find}
	data, err := os.ReadFile(h.path)
	if errors.Is(err, os.ErrNotExist) {
		return h, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &h.record)
	}
	if err == nil {
		err = h.record.check()
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
	s, err := take(ctx, source, h.find)
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
		h.record.LastWarm, h.record.Before, h.record.Restored, h.record.Since = start.Warm, start.Before, start.Restored, start.At.Unix()
	}
	h.record.Last = &s
	return start, h.write()
}

// startBetween returns the start between two samples; the first is nil if there is none.
func startBetween(last *sample, s sample) *Start {
	start := &Start{Run: s.Run, Warm: s.warm(), At: time.Now().Add(-s.age).Truncate(time.Second)}
	if last != nil {
		start.Before = last.Items
	}
	if start.Warm {
		start.Restored = s.Items
	}
	return start
}

// Last returns the last start, false before the first check.
func (h *History) Last() (Start, bool) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	r := h.record
	warm := r.LastWarm || r.Restored > 0 // Agents before 0.4.0 kept only the number of items.
	if r.Last == nil {
		return Start{}, false
	}
	return Start{Run: r.Last.Run, Warm: warm, Before: r.Before, Restored: r.Restored, At: time.Unix(r.Since, 0)}, true
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
		"Starts of memcached in this pod: kind warm if it went on with its memory of before, cold if it started empty.", []string{"kind"}, nil)
	itemsBefore = prometheus.NewDesc("memcached_agent_items_before_start",
		"Items that memcached held when it was last looked at before its last start.", nil, nil)
	itemsRestored = prometheus.NewDesc("memcached_agent_items_restored",
		"Items that memcached held when it was first looked at after its last start, if that was warm; 0 if it was cold.", nil, nil)
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
