package agent

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/example/memcached-operator/operator/agent/memcached"
	"github.com/example/memcached-operator/operator/agent/repeat"
)

// leastAsks is how often a memcached has to stay silent before it is killed, however long that takes.
const leastAsks = 5

// watchdog kills a memcached that hangs: its process exists and the kernel accepts connections for it, but it answers nobody. No
// TCP probe notices that: while memcached was stopped, the kernel accepted 1,025 connections. memcached can hang after a warm
// restart (https://github.com/memcached/memcached/issues/742).
//
// The kubelet then restarts the container. memcached starts empty: one that hangs does not save its items on SIGUSR1, so it gets
// SIGKILL. To kill one that works would lose its items for nothing. So any answer counts, as for Dialer.Alive, and over a
// connection from before, too: a memcached whose connections are all taken may leave new ones waiting. A memcached that does not
// listen yet, because it is finding its items again, refuses connections and is not silent.
type watchdog struct {
	dialer   *memcached.Dialer
	process  memcached.Process
	patience time.Duration // 0 for ever.
	interval time.Duration // Between two checks.
	logger   *slog.Logger
	kills    prometheus.Counter

	conn   *memcached.Conn // From when memcached answered; nil if there is none.
	silent string          // The run that is silent, empty if none is.
	since  time.Time       // Since when it is.
	asks   int             // How often it was asked since then.
}

func newWatchdog(o options, dialer *memcached.Dialer, process memcached.Process, logger *slog.Logger, registerer prometheus.Registerer) *watchdog {
	return &watchdog{
		dialer: dialer, process: process, patience: o.hangPatience, interval: o.interval, logger: logger,
		kills: promauto.With(registerer).NewCounter(prometheus.CounterOpts{
			Name: "memcached_agent_hang_kills_total",
			Help: "Times that memcached accepted connections but answered nobody for so long that the agent killed it.",
		}),
	}
}

// run checks until ctx ends.
func (w *watchdog) run(ctx context.Context) {
	if w.patience > 0 {
		repeat.Until(ctx, min(w.interval, w.patience/leastAsks), func(ctx context.Context) bool {
			w.check(ctx)
			return false
		})
	}
	w.drop()
}

// check asks memcached, and kills it once it has been silent for too long.
func (w *watchdog) check(ctx context.Context) {
	if !w.asked(ctx) || ctx.Err() != nil {
		w.silent = ""
		return
	}
	now := time.Now()
	run, err := w.process.Current()
	switch {
	case err != nil:
		w.silent = ""
	case run.ID != w.silent:
		w.silent, w.since, w.asks = run.ID, now, 1
		w.logger.Warn("Memcached accepts connections, but does not answer: it is killed if it does not for long", "patience", w.patience)
	default:
		w.asks++
		if w.asks >= leastAsks && now.Sub(w.since) >= w.patience {
			w.kill(now)
		}
	}
}

// kill ends memcached.
func (w *watchdog) kill(now time.Time) {
	silence := now.Sub(w.since).Round(time.Second)
	if err := w.process.Kill(); err != nil {
		w.logger.Error("Memcached hangs, and cannot be killed: delete the pod", "silentFor", silence, "error", err)
		return
	}
	w.kills.Inc()
	w.silent = ""
	w.drop()
	w.logger.Error("Memcached did not answer and was killed: it starts again, and empty", "silentFor", silence)
}

// asked asks memcached, and reports whether it was silent.
func (w *watchdog) asked(ctx context.Context) (silent bool) {
	ctx, cancel := context.WithTimeout(ctx, w.patience/leastAsks)
	defer cancel()
	if w.conn != nil {
		half, cancel := context.WithTimeout(ctx, w.patience/leastAsks/2)
		defer cancel()
		_, err := w.conn.Version(half)
		if err == nil {
			return false
		}
		if !timeout(err) {
			w.drop()
		}
	}
	err := w.dialer.Alive(ctx)
	if err == nil && w.conn == nil {
		w.conn, _ = w.dialer.Dial(ctx) // A memcached that does not let the agent in is alive.
	}
	return timeout(err)
}

// drop closes the connection from before.
func (w *watchdog) drop() {
	if w.conn != nil {
		_ = w.conn.Close()
		w.conn = nil
	}
}

func timeout(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
}
