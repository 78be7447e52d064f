package metrics

import (
	"context"
	"time"

	"github.com/example/memcached-operator/operator/agent/memcached"
)

// sample is what shows at one time how memcached was started. It is part of the file of starts, so its names in JSON stay.
type sample struct {
	PID    int64         `json:"pid"`    // memcached's process ID.
	Run    string        `json:"run"`    // The run of memcached, see memcached.Run; empty in a file of an agent before 0.4.0.
	Uptime int64         `json:"uptime"` // How many seconds memcached says that it has run.
	Items  int64         `json:"items"`  // How many items memcached has.
	age    time.Duration // How long the process has run.
}

// Source is a connection to memcached.
type Source interface {
	// Stats returns the statistics of a topic, the general ones without a topic.
	Stats(ctx context.Context, topic string) (memcached.Stats, error)
}

// take takes a sample. The age is asked for after the uptime: a late answer can make a warm start look cold, but not the other
// way round.
func take(ctx context.Context, source Source, find FindRun) (sample, error) {
	stats, err := source.Stats(ctx, "")
	if err != nil {
		return sample{}, err
	}
	var s sample
	if err := stats.Ints(map[string]*int64{"pid": &s.PID, "uptime": &s.Uptime, "curr_items": &s.Items}); err != nil {
		return sample{}, err
	}
	run, err := find(s.PID)
	s.Run, s.age = run.ID, run.Age
	return s, err
}

// after reports whether memcached was restarted between the earlier sample and this one.
func (s sample) after(earlier sample) bool {
	if earlier.Run == "" {
		return s.PID != earlier.PID || s.Uptime < earlier.Uptime
	}
	return s.Run != earlier.Run
}

// mostColdLead is how far the uptime of a memcached that started cold can be ahead of the age of its process.
//
// memcached counts by the monotonic clock, in whole seconds, and says 2 when it starts its clock cold (memcached.c), which it does
// after the process has started. The whole seconds of two times differ by less than one second more than the times do, so
// uptime - age < 3. A clock that ticks late, a long start and a node that slept only lower the difference; a process that is
// suspended and a clock that is set change nothing. Measured with 1.6.18, 1.6.38 and 1.6.45: 1.03 to 1.96 s, also
// with a memory file that is refused: another -m, a restart within the same second.
//
// When memcached restores its items, it goes on from the uptime that it had at its end, plus the seconds until the start, one at
// least. So a warm start is recognised if memcached had run for three seconds before, plus as long as the start takes (2 to 3
// seconds for some millions of items). Measured: 3.98 s after the shortest life that it took to store 10 items, 11 s after 9.
const mostColdLead = 3 * time.Second

// warm reports whether memcached went on with what it had before its start. Both grow alike, so it is the same a day later.
func (s sample) warm() bool {
	return time.Duration(s.Uptime)*time.Second-s.age > mostColdLead
}
