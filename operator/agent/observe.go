package agent

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/agent/memcached"
	"github.com/example/memcached-operator/operator/agent/metrics"
	"github.com/example/memcached-operator/operator/agent/repeat"
)

// runLoops runs what checks memcached again and again until ctx ends, once the files say how to reach it.
func (a *agent) runLoops(ctx context.Context) {
	if !a.awaitFiles(ctx) {
		return
	}
	var loops sync.WaitGroup
	defer loops.Wait()
	loops.Go(func() { a.reloads.Run(ctx) })
	loops.Go(func() { a.watchdog.run(ctx) })
	if a.memory.File != "" {
		loops.Go(func() { a.memory.Run(ctx) })
	}
	a.observe(ctx)
}

// awaitFiles waits until the files of certificates and users can be read, and returns false if ctx ends before.
func (a *agent) awaitFiles(ctx context.Context) bool {
	problem := ""
	return repeat.Until(ctx, a.options.reloadInterval, func(context.Context) bool {
		err := a.readFiles()
		if err != nil && memcached.Brief(err) != problem {
			problem = memcached.Brief(err)
			a.logger.Error("The agent has no way to memcached before its files are put right: trying again",
				"error", err, "every", a.options.reloadInterval)
		}
		return err == nil
	})
}

// readFiles makes the dialer use the files on disk, or fail with the error of reading them.
func (a *agent) readFiles() error {
	certificates, err := a.options.certificates.Read()
	var users *api.Users
	if err == nil {
		users, err = api.ReadUsers(a.options.users)
	}
	if err == nil {
		a.dialer.UseCertificates(certificates)
		a.dialer.UseUsers(users)
	}
	a.dialer.Hold(err)
	return err
}

// observe measures memcached again and again. Metrics show what fails; a line is logged when that changes.
func (a *agent) observe(ctx context.Context) {
	problem := ""
	repeat.Every(ctx, a.options.interval, func(ctx context.Context) {
		err := errors.Join(a.canary.Measure(), a.sample(ctx))
		switch {
		case ctx.Err() != nil:
		case err != nil && memcached.Brief(err) != problem:
			problem = memcached.Brief(err)
			a.logger.Warn("Memcached does not do as it should", "error", err)
		case err == nil && problem != "":
			problem = ""
			a.logger.Info("Memcached does as it should again")
		}
	})
}

// sample asks memcached for its statistics, over a new connection, which also shows the certificate that it serves. It does not
// overlap with a get of the canary, so memcached has counted all gets of the canary.
func (a *agent) sample(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, a.options.interval)
	defer cancel()
	conn, err := a.dialer.Dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	failure := a.checkStart(ctx, conn)
	stats, err := conn.Stats(ctx, "")
	if err != nil {
		return errors.Join(failure, err)
	}
	counts := metrics.Counts{At: time.Now(), Own: a.canary.Hits()}
	err = stats.Ints(map[string]*int64{"pid": &counts.Process, "get_hits": &counts.Hits, "get_misses": &counts.Misses})
	if err == nil {
		a.ratio.Add(counts)
	}
	return errors.Join(failure, err)
}

// checkStart finds out whether memcached was started since the last check, and logs it.
func (a *agent) checkStart(ctx context.Context, conn *memcached.Conn) error {
	start, err := a.history.Check(ctx, conn)
	if start != nil {
		a.logger.Info("Memcached was started", "at", start.At, "warm", start.Warm, "itemsBefore", start.Before, "itemsRestored", start.Restored)
	}
	return err
}
