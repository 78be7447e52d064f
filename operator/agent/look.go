package agent

import (
	"context"
	"errors"
	"time"

	"github.com/example/memcached-operator/operator/agent/memcached"
	"github.com/example/memcached-operator/operator/agent/metrics"
)

// observe looks at memcached again and again. What it cannot see shows in metrics; a line is logged when that changes.
func (a *agent) observe(ctx context.Context) {
	ticker := time.NewTicker(a.options.interval)
	defer ticker.Stop()
	problem := ""
	for {
		err := errors.Join(a.canary.Sing(), a.look(ctx))
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && memcached.Brief(err) != problem:
			problem = memcached.Brief(err)
			a.logger.Warn("Memcached does not do as it should", "error", err)
		case err == nil && problem != "":
			problem = ""
			a.logger.Info("Memcached does as it should again")
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// look asks memcached for its statistics, over a new connection, which also shows the certificate that it serves. No get
// of the canary is under way meanwhile, so those that memcached has counted are known.
func (a *agent) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, a.options.interval)
	defer cancel()
	conn, err := a.dialer.Dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	failure := a.noteStart(ctx, conn)
	general, err := conn.Stats(ctx, "")
	if err != nil {
		return errors.Join(failure, err)
	}
	stats, err := numbers(general)
	if err != nil {
		return errors.Join(failure, err)
	}
	a.ratio.Add(metrics.Counts{
		At: a.now(), Process: stats["pid"], Hits: stats["get_hits"], Misses: stats["get_misses"], Own: a.canary.Hits(),
	})
	return failure
}

// noteStart notes whether memcached was started since the last look.
func (a *agent) noteStart(ctx context.Context, conn *memcached.Conn) error {
	start, err := a.history.Look(ctx, conn)
	if start != nil {
		a.logger.Info("Memcached was started", "at", start.At, "warm", start.Warm, "itemsBefore", start.Before, "itemsRestored", start.Restored)
	}
	return err
}
