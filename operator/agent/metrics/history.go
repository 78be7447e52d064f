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

// record is what the file holds.
type record struct {
	Last     *Sample `json:"last,omitempty"`
	Warm     int64   `json:"warm"`
	Cold     int64   `json:"cold"`
	Before   int64   `json:"before"`
	Restored int64   `json:"restored"`
	Since    int64   `json:"since"`
}

// Start is a start of memcached.
type Start struct {
	// Warm says whether items of before were there.
	Warm bool

	// Before is how many items memcached held when it was last looked at before the start, 0 if it never was.
	Before int64

	// Restored is how many items of before were there when it was first looked at after the start.
	Restored int64

	// At is when memcached started, in whole seconds, or when it was first looked at after the start, if it does not tell.
	At time.Time
}

// History remembers memcached's starts in a file, so that they outlive the agent. It is a prometheus.Collector.
type History struct {
	path    string
	looking sync.Mutex // Samples have to be compared in the order in which they were taken.

	mutex  sync.Mutex
	record record
}

// OpenHistory reads the history in directory, which is empty at first. A file that cannot be read as a history is replaced by an
// empty one, and the error says so: the History is usable all the same.
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

// Look looks at memcached. It returns the start that it sees, or nil. If it is the file that cannot be written, there can
// be a start and an error, and the start counts until the agent ends.
func (h *History) Look(ctx context.Context, source Source) (*Start, error) {
	h.looking.Lock()
	defer h.looking.Unlock()
	sample, err := Take(ctx, source)
	if err != nil {
		return nil, err
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	var start *Start
	if h.record.Last == nil || sample.After(*h.record.Last) {
		start = begun(sample, h.record.Last)
		if start.Warm {
			h.record.Warm++
		} else {
			h.record.Cold++
		}
		h.record.Before, h.record.Restored, h.record.Since = start.Before, start.Restored, start.At.Unix()
	}
	h.record.Last = &sample
	return start, h.write()
}

// begun returns the start between two samples; last is nil if there is no earlier one.
func begun(sample Sample, last *Sample) *Start {
	start := &Start{Warm: sample.Restored > 0, Restored: sample.Restored}
	at := sample.Time - sample.Uptime
	if last != nil {
		start.Before = last.Items
	}
	// The uptime goes on across a start that found a file, so it may reach back to before the last look.
	if start.Warm || last != nil && at < last.Time {
		at = sample.Time
	}
	start.At = time.Unix(at, 0)
	return start
}

// Last returns the last start that was seen, false before the first look.
func (h *History) Last() (Start, bool) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	r := h.record
	return Start{Warm: r.Restored > 0, Before: r.Before, Restored: r.Restored, At: time.Unix(r.Since, 0)}, r.Last != nil
}

// write replaces the file in one step.
func (h *History) write() error {
	data, err := json.Marshal(h.record)
	if err != nil {
		return fmt.Errorf("encode memcached's starts: %w", err)
	}
	if err := os.WriteFile(h.path+".new", data, 0o600); err != nil {
		return fmt.Errorf("remember memcached's starts: %w", err)
	}
	if err := os.Rename(h.path+".new", h.path); err != nil {
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

// Describe implements prometheus.Collector.
func (h *History) Describe(descriptions chan<- *prometheus.Desc) {
	for _, description := range []*prometheus.Desc{startsTotal, itemsBefore, itemsRestored} {
		descriptions <- description
	}
}

// Collect implements prometheus.Collector. Nothing is known, and so nothing shown, before the first look.
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
