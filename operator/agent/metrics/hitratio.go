package metrics

import (
	"slices"
	"sync"
	"time"
)

// ratioPeriod is how far back the hit ratio reaches. It reaches further if counts are added less often.
const ratioPeriod = time.Minute

// Counts are memcached's counts of gets at one time.
type Counts struct {
	At           time.Time
	Process      int64 // memcached's process ID: another process starts from zero.
	Hits, Misses int64 // Including the agent's.
	Own          int64 // How many of Hits are the agent's. It never decreases.
}

// HitRatio is the share of the gets of the last minute that found an item. memcached only counts since its start, so the counts
// of one minute are kept. The zero value is empty.
type HitRatio struct {
	mutex sync.Mutex
	kept  []Counts
}

// Add adds counts that are later than those before. It forgets those before if memcached was restarted meanwhile, or its
// statistics were reset.
func (h *HitRatio) Add(c Counts) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if n := len(h.kept); n > 0 {
		last := h.kept[n-1]
		if c.Process != last.Process || c.Hits < last.Hits || c.Misses < last.Misses {
			h.kept = nil
		}
	}
	h.kept = append(h.kept, c)
	// The first counts are those of a minute ago, or the oldest there are.
	for len(h.kept) > 2 && c.At.Sub(h.kept[1].At) >= ratioPeriod {
		h.kept = slices.Delete(h.kept, 0, 1)
	}
}

// Ratio returns the share of gets that found an item, 0 to 1; nil if there were none but the agent's.
func (h *HitRatio) Ratio() *float64 {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if len(h.kept) < 2 {
		return nil
	}
	first, last := h.kept[0], h.kept[len(h.kept)-1]
	hits, misses := (last.Hits-last.Own)-(first.Hits-first.Own), last.Misses-first.Misses
	if hits < 0 || hits+misses == 0 {
		return nil
	}
	ratio := float64(hits) / float64(hits+misses)
	return &ratio
}
