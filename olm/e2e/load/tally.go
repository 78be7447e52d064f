package load

import (
	"context"
	"sync"
	"time"
)

// Tally is a server whose own requests are counted: those of a Load are counted for all servers together.
type Tally struct {
	Server

	mutex  sync.Mutex
	counts Outcome
}

// Outcome is what came of the requests to one server.
type Outcome struct {
	Requests, Failed int
	// First and Last are when the first and the last failure was noticed; zero if there was none.
	First, Last time.Time
	// Failure is the first failure.
	Failure error
}

// Missed is how long the server did not answer, as its clients saw it: from the first failure to the last.
func (o Outcome) Missed() time.Duration { return o.Last.Sub(o.First) }

// Overlaps says that two servers did not answer at the same time.
func (o Outcome) Overlaps(other Outcome) bool {
	return o.Failed > 0 && other.Failed > 0 && !o.Last.Before(other.First) && !other.Last.Before(o.First)
}

// NewTally counts the requests to a server.
func NewTally(server Server) *Tally { return &Tally{Server: server} }

// Ask implements Server.
func (t *Tally) Ask(ctx context.Context, done func(error)) {
	t.Server.Ask(ctx, func(err error) {
		t.count(err)
		done(err)
	})
}

func (t *Tally) count(err error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.counts.Requests++
	if err == nil {
		return
	}
	now := time.Now()
	if t.counts.Failed++; t.counts.Failed == 1 {
		t.counts.First, t.counts.Failure = now, err
	}
	t.counts.Last = now
}

// Outcome returns what has come of the requests so far.
func (t *Tally) Outcome() Outcome {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.counts
}
