package clients

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// interval is the time between two rounds with a server, unless there are many.
	interval = 50 * time.Millisecond
	// shared is the least time between two rounds of a load, whichever server they are with. More rounds would take the CPU from the
	// cluster under test: on a slow machine, one takes 3.7 ms of CPU time, for a connection, TLS and the DNS, in the client and in
	// memcached. A restart of a server is noticed however rarely it is asked, because it ends the connection that stays open.
	shared = 20 * time.Millisecond
	// remembered is how many failures are kept as text. All are counted.
	remembered = 10
)

// Server is a server under load.
type Server interface {
	// Name identifies the server, for example by the name of its pod.
	Name() string
	// Ask makes one round of requests and calls done for each: with nil for a correct answer, else with the failure. It returns
	// within a few seconds.
	Ask(ctx context.Context, done func(error))
	// Close closes its connections.
	Close() error
}

// Counts are the results of requests.
type Counts struct {
	Requests, Failed int
	// Slowest is the duration of the longest round with a server.
	Slowest time.Duration
	// Failures are the first failures as text, with the time and the server.
	Failures []string
}

// Load sends requests to servers until it is stopped.
type Load struct {
	cancel context.CancelFunc
	ended  sync.WaitGroup

	mutex   sync.Mutex
	servers []Server
	counts  Counts
}

// StartLoad starts a load on the servers. Each has a goroutine of its own. Stop closes them.
func StartLoad(servers []Server) *Load {
	ctx, cancel := context.WithCancel(context.Background())
	l := &Load{cancel: cancel, servers: servers}
	every := max(interval, time.Duration(len(servers))*shared)
	for _, server := range servers {
		l.ended.Go(func() { l.ask(ctx, server, every) })
	}
	return l
}

func (l *Load) ask(ctx context.Context, server Server, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		start := time.Now()
		// Not ctx: a request under way is not cancelled at the end.
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

// Counts returns the results since the last call, and counts from zero again.
func (l *Load) Counts() Counts {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	counts := l.counts
	l.counts = Counts{}
	return counts
}

// Stop ends the load and waits for the requests under way. It may be called again.
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
