package metrics

import (
	"context"

	"github.com/example/memcached-operator/operator/agent/memcached"
)

// Sample is what one look at memcached's statistics found. It is stored, so its names in JSON stay.
type Sample struct {
	// PID is memcached's process ID, in its own namespace.
	PID int64 `json:"pid"`

	// Processor is the processor time, in seconds, that memcached has used.
	Processor float64 `json:"processor"`

	// Time is when the sample was taken, by memcached's clock, in seconds since 1970.
	Time int64 `json:"time"`

	// Uptime is how many seconds memcached says that it has run.
	Uptime int64 `json:"uptime"`

	// Items is how many items memcached holds.
	Items int64 `json:"items"`

	// Restored is how many items were there without having been stored since the start.
	Restored int64 `json:"restored"`
}

// Source is a connection to memcached.
type Source interface {
	// Stats returns the statistics of a topic, the general ones for an empty topic.
	Stats(ctx context.Context, topic string) (memcached.Stats, error)
}

// stores are the counters of commands that can add to total_items.
var stores = []string{"cmd_set", "incr_hits", "incr_misses", "decr_hits", "decr_misses"}

// Take takes a sample. It asks twice: while memcached sums up its counters, others go on storing, and only stores that
// were counted later than the items are sure to include theirs.
func Take(ctx context.Context, source Source) (Sample, error) {
	first, err := source.Stats(ctx, "")
	if err != nil {
		return Sample{}, err
	}
	second, err := source.Stats(ctx, "")
	if err != nil {
		return Sample{}, err
	}
	settings, err := source.Stats(ctx, "settings")
	if err != nil {
		return Sample{}, err
	}
	return read(first, second, settings)
}

func read(first, second, settings memcached.Stats) (Sample, error) {
	var s Sample
	for name, field := range map[string]*int64{
		"pid": &s.PID, "time": &s.Time, "uptime": &s.Uptime, "curr_items": &s.Items, "total_items": &s.Restored,
	} {
		var err error
		if *field, err = first.Int(name); err != nil {
			return Sample{}, err
		}
	}
	for _, name := range []string{"rusage_user", "rusage_system"} {
		used, err := first.Float(name)
		if err != nil {
			return Sample{}, err
		}
		s.Processor += used
	}
	for _, name := range stores {
		stored, err := second.Int(name)
		if err != nil {
			return Sample{}, err
		}
		s.Restored -= stored
	}
	if file := settings["memory_file"]; s.Restored < 0 || file == "" || file == noFile {
		s.Restored = 0
	}
	return s, nil
}

// noFile is how memcached says that it keeps no items across a start.
const noFile = "(null)"

// After reports whether memcached was started anew between the earlier sample and this one.
func (s Sample) After(earlier Sample) bool {
	return s.PID != earlier.PID || s.Processor < earlier.Processor || s.Uptime < earlier.Uptime
}
