package metrics

import (
	"slices"
	"sync"
	"time"
)

// length is how far back the ratio reaches. It reaches further if looks are further apart.
const length = time.Minute

// Counts are memcached's at one time.
type Counts struct {
	// At is when they were read.
	At time.Time

	// Process is memcached's process ID: another process counts anew.
	Process int64

	// Hits and Misses of gets, those of the agent included.
	Hits, Misses int64

	// Own is how many of Hits are the agent's. It never goes down.
	Own int64
}

// HitRatio keeps the counts of the last minute. The zero value is empty.
type HitRatio struct {
	mutex sync.Mutex
	kept  []Counts
}

// Add adds counts that are later than those before. When memcached has begun to count anew, what was before is forgotten.
func (w *HitRatio) Add(c Counts) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if n := len(w.kept); n > 0 && c.after(w.kept[n-1]) {
		w.kept = nil
	}
	w.kept = append(w.kept, c)
	// The first one is where the minute begins, so it is a minute old or the oldest there is.
	for len(w.kept) > 2 && c.At.Sub(w.kept[1].At) >= length {
		w.kept = slices.Delete(w.kept, 0, 1)
	}
}

// after reports whether memcached has been started anew, or its statistics reset, since the earlier counts.
func (c Counts) after(earlier Counts) bool {
	return c.Process != earlier.Process || c.Hits < earlier.Hits || c.Misses < earlier.Misses
}

// Ratio returns the share of gets that found an item, 0 to 1; nil if there were none but the agent's.
func (w *HitRatio) Ratio() *float64 {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if len(w.kept) < 2 {
		return nil
	}
	first, last := w.kept[0], w.kept[len(w.kept)-1]
	hits, misses := (last.Hits-last.Own)-(first.Hits-first.Own), last.Misses-first.Misses
	if hits < 0 || hits+misses == 0 {
		return nil
	}
	ratio := float64(hits) / float64(hits+misses)
	return &ratio
}
