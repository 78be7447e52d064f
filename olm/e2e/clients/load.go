package clients

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// interval is how often each server is asked.
	interval = 50 * time.Millisecond
	// remembered is how many failures are kept in words; all are counted.
	remembered = 10
)

// Server is one that is asked.
type Server interface {
	// Name tells it from others, for example by the name of its pod.
	Name() string
	// Ask makes one round of requests and passes what came of each to done, nil for a right answer. It returns
	// within a few seconds.
	Ask(ctx context.Context, done func(error))
	// Close gives up its connections.
	Close() error
}

// Counts are what has come of the requests so far.
type Counts struct {
	Requests, Failed int
	// Slowest is how long the longest round with one server took.
	Slowest time.Duration
	// Failures are the first failures in words, with the time and the server.
	Failures []string
}

// Load asks servers until it is stopped.
type Load struct {
	cancel context.CancelFunc
	ended  sync.WaitGroup

	mutex   sync.Mutex
	servers []Server
	counts  Counts
}

// StartLoad begins to ask the servers, each at its own pace, and closes them when it is stopped.
func StartLoad(servers []Server) *Load {
	ctx, cancel := context.WithCancel(context.Background())
	l := &Load{cancel: cancel, servers: servers}
	for _, server := range servers {
		l.ended.Go(func() { l.ask(ctx, server) })
	}
	return l
}

func (l *Load) ask(ctx context.Context, server Server) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		start := time.Now()
		// Not ctx: a request that is under way at the end has its time, too.
		server.Ask(context.Background(), func(err error) { l.count(server, err) })
		l.took(time.Since(start))
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (l *Load) count(server Server, err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.counts.Requests++
	if err == nil {
		return
	}
	l.counts.Failed++
	if len(l.counts.Failures) < remembered {
		l.counts.Failures = append(l.counts.Failures, fmt.Sprintf("%s %s: %v", time.Now().Format(time.TimeOnly), server.Name(), err))
	}
}

func (l *Load) took(d time.Duration) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.counts.Slowest = max(l.counts.Slowest, d)
}

// Counts returns what has come of the requests since the last call, and counts from zero again.
func (l *Load) Counts() Counts {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	counts := l.counts
	l.counts = Counts{}
	return counts
}

// Stop asks no more, and waits for the requests that are under way. It may be called again.
func (l *Load) Stop() error {
	l.cancel()
	l.ended.Wait()
	var first error
	for _, server := range l.servers {
		if err := server.Close(); err != nil && first == nil {
			first = fmt.Errorf("close the connections to %s: %w", server.Name(), err)
		}
	}
	l.servers = nil
	return first
}
