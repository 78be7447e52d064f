// Package agent is what runs beside memcached in its pod, as the command `/manager agent` (package main in it). It does what
// needs a connection to one memcached, so that the operator does not have to reach into pods:
//
//   - /metrics: those of prometheus/memcached_exporter, and our own about latency, certificates, starts and reloads (package
//     metrics).
//   - /readyz: memcached lets the agent in and answers. /livez: it answers anything at all. /healthz: the agent runs.
//   - /state: the state of memcached for the operator, as JSON (package api).
//   - Certificates and users that change on disk are reloaded, and the reload is verified (package reload).
//   - The memory for items follows a file (package memory).
//   - A memcached that hangs is killed (watchdog), so that it serves clients again.
//
// Requests of the same page that come at the same time share one query of memcached, over one connection, and few connections to
// the agent are open at the same time: any pod in the network can connect, and the kubelet has to get its answers. While the files
// of certificates and users cannot be read at the start, the agent is alive, serves the metrics that there are, and tries again.
//
// A liveness probe of memcached through the agent restarts memcached also when the agent is broken: give the agent a probe of its
// own (/healthz), and memcached's more patience.
//
// This package has the flags, the wiring and what is served. The other packages do not know each other; all of them reach
// memcached through memcached.Dialer. The agent makes no requests to Kubernetes.
package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/agent/memcached"
	"github.com/example/memcached-operator/operator/agent/memory"
	"github.com/example/memcached-operator/operator/agent/metrics"
	"github.com/example/memcached-operator/operator/agent/reload"
)

const (
	// shutdownTimeout is how long requests under way may take to end.
	shutdownTimeout = 5 * time.Second

	// headerTimeout, and requestTimeout for the rest and for the answer, limit clients of the agent, which can be anybody. A
	// scrape takes up to 10 seconds.
	headerTimeout  = 5 * time.Second
	requestTimeout = 30 * time.Second

	// maxHeaderSize is how many bytes the headers of a request may have, beside 4 KiB that net/http adds.
	maxHeaderSize = 8 << 10
)

// Run runs the agent until ctx ends, and logs to stderr. It returns flag.ErrHelp after it printed what --help asked for.
func Run(ctx context.Context, arguments []string, stderr io.Writer) error {
	options, err := parse(arguments, stderr)
	if err != nil {
		return err
	}
	if options.directory == "" {
		if options.directory, err = os.MkdirTemp("", "agent-"); err != nil {
			return fmt.Errorf("make a directory: give one with --directory: %w", err)
		}
		defer os.RemoveAll(options.directory)
	}
	a, err := wire(options, slog.New(slog.NewJSONHandler(stderr, nil)))
	if err != nil {
		return err
	}
	return a.run(ctx)
}

// agent holds all parts of the program.
type agent struct {
	options  options
	logger   *slog.Logger
	dialer   *memcached.Dialer
	bridge   *metrics.Bridge
	canary   *metrics.Canary
	history  *metrics.History
	ratio    metrics.HitRatio
	reloads  *reload.Loop
	memory   *memory.Loop
	watchdog *watchdog
	listener net.Listener
	server   *http.Server
}

// wire puts the parts together. When it returns, both listeners are open, and nothing runs.
func wire(o options, logger *slog.Logger) (*agent, error) {
	a := &agent{options: o, logger: logger, dialer: memcached.NewDialer(o.memcached, o.certificates.Unread(), &api.Users{})}
	_ = a.readFiles() // The agent tries again, and logs the error, when it runs.
	registry := prometheus.NewRegistry()
	pod, _ := os.Hostname() // A pod always has one. Without it, the key is only the prefix.
	a.canary = metrics.NewCanary(a.dialer, pod, registry)
	process := memcached.Process{Name: o.process, Directory: "/proc"}
	a.reloads = &reload.Loop{
		Certificates: o.certificates, Users: o.users, Dialer: a.dialer, Interval: o.reloadInterval, Logger: logger,
		Hangup: process.Hangup, Started: process.Started,
	}
	a.reloads.Register(registry)
	a.memory = &memory.Loop{File: o.cacheMemory, Dialer: a.dialer, Interval: o.reloadInterval, Logger: logger}
	a.watchdog = newWatchdog(o, a.dialer, process, logger, registry)
	var err error
	if a.history, err = metrics.OpenHistory(o.directory, process.Run); err != nil {
		logger.Warn("Goes on without the history", "error", err)
	}
	if a.bridge, err = metrics.NewBridge(o.directory, a.dialer, logger); err != nil {
		return nil, err
	}
	metrics.Register(registry, a.dialer, a.bridge, a.history, logger)
	listener, err := net.Listen("tcp", o.bind)
	if err != nil {
		return nil, fmt.Errorf("listen on --bind-address: %w", err)
	}
	a.listener = &limitedListener{Listener: listener}
	a.server = &http.Server{
		Handler:           a.handler(registry),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: requestTimeout, WriteTimeout: requestTimeout, IdleTimeout: requestTimeout,
		MaxHeaderBytes: maxHeaderSize,
	}
	a.server.SetKeepAlivesEnabled(false) // A connection that waits for the next scrape would be the first to be displaced.
	return a, nil
}

// run runs all parts until ctx ends or the server fails, and returns when all of them have stopped.
func (a *agent) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		a.runLoops(ctx)
		return nil
	})
	group.Go(func() error {
		if err := a.server.Serve(a.listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve metrics and probes: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		a.bridge.Close()
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
		defer cancel()
		if err := a.server.Shutdown(stopping); err != nil {
			a.logger.Warn("Some requests were not answered", "error", err)
			_ = a.server.Close() // Its error has been logged.
		}
		return nil
	})
	a.logger.Info("Serving", "address", a.listener.Addr().String(), "memcached", a.options.memcached)
	err := group.Wait()
	_ = a.canary.Close() // The process ends anyway.
	return err
}
