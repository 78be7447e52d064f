package metrics

import (
	"context"

	"github.com/example/memcached-operator/operator/agent/memcached"
)

// sample is an extract of memcached's statistics at one time. It is part of the file of starts, so its names in JSON stay.
type sample struct {
	PID       int64   `json:"pid"`       // In memcached's own namespace.
	Processor float64 `json:"processor"` // The processor time that memcached has used, in seconds.
	Time      int64   `json:"time"`      // By memcached's clock, in seconds since 1970.
	Uptime    int64   `json:"uptime"`    // How many seconds memcached says that it has run.
	Items     int64   `json:"items"`     // How many items memcached has.
	Restored  int64   `json:"restored"`  // How many items memcached has got without a store since the start.
}

// Source is a connection to memcached.
type Source interface {
	// Stats returns the statistics of a topic, the general ones without a topic.
	Stats(ctx context.Context, topic string) (memcached.Stats, error)
}

// take takes a sample. It asks twice: clients go on storing while memcached adds up its counters, and only stores that were
// counted later than the items are sure to include all of the items.
func take(ctx context.Context, source Source) (sample, error) {
	var answers [3]memcached.Stats
	var err error
	for i, topic := range []string{"", "", "settings"} {
		if answers[i], err = source.Stats(ctx, topic); err != nil {
			return sample{}, err
		}
	}
	first, second, settings := answers[0], answers[1], answers[2]
	var s sample
	err = first.Ints(map[string]*int64{
		"pid": &s.PID, "time": &s.Time, "uptime": &s.Uptime, "curr_items": &s.Items, "total_items": &s.Restored,
	})
	if err != nil {
		return sample{}, err
	}
	for _, name := range []string{"rusage_user", "rusage_system"} {
		used, err := first.Float(name)
		if err != nil {
			return sample{}, err
		}
		s.Processor += used
	}
	// These commands can add to total_items.
	for _, name := range []string{"cmd_set", "incr_hits", "incr_misses", "decr_hits", "decr_misses"} {
		stored, err := second.Int(name)
		if err != nil {
			return sample{}, err
		}
		s.Restored -= stored
	}
	// Without a memory file, memcached keeps no items across a start.
	if file := settings["memory_file"]; s.Restored < 0 || file == "" || file == "(null)" {
		s.Restored = 0
	}
	return s, nil
}

// after reports whether memcached was restarted between the earlier sample and this one.
func (s sample) after(earlier sample) bool {
	return s.PID != earlier.PID || s.Processor < earlier.Processor || s.Uptime < earlier.Uptime
}
