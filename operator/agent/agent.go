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
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/singleflight"

	"github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/agent/memcached"
	"github.com/example/memcached-operator/operator/agent/memory"
	"github.com/example/memcached-operator/operator/agent/metrics"
	"github.com/example/memcached-operator/operator/agent/reload"
)

const (
	// shutdownTimeout is how long requests that are being answered may take to end.
	shutdownTimeout = 5 * time.Second

	// headerTimeout, and requestTimeout for the rest and for the answer, are how long a client of the agent may take, which
	// can be anybody. A scrape takes up to 10 seconds.
	headerTimeout  = 5 * time.Second
	requestTimeout = 30 * time.Second
)

// Run runs the agent until ctx ends, and logs to stderr. It returns flag.ErrHelp after it printed what --help asked for.
func Run(ctx context.Context, arguments []string, stderr io.Writer) error {
	options, err := parse(arguments, stderr)
	if err != nil {
		return err
	}
	logger := slog.New(slog.NewJSONHandler(stderr, nil))
	if options.directory == "" {
		if options.directory, err = os.MkdirTemp("", "agent-"); err != nil {
			return fmt.Errorf("make a directory: give one with --directory: %w", err)
		}
		defer os.RemoveAll(options.directory)
	}
	a, err := wire(options, logger)
	if err != nil {
		return err
	}
	return a.run(ctx)
}

// agent is everything that runs.
type agent struct {
	options   options
	logger    *slog.Logger
	dialer    *memcached.Dialer
	bridge    *metrics.Bridge
	canary    *metrics.Canary
	history   *metrics.History
	reloads   *reload.Loop
	memory    *memory.Loop
	ratio     metrics.HitRatio
	now       func() time.Time
	listener  net.Listener
	server    *http.Server
	questions singleflight.Group // Of requests, to memcached.
}

// wire puts the parts together. The two listeners are open when it returns, and nothing runs.
func wire(o options, logger *slog.Logger) (*agent, error) {
	a := &agent{
		options: o, logger: logger, now: time.Now, dialer: memcached.NewDialer(o.memcached, o.certificates.Unread(), &api.Users{}),
	}
	_ = a.read() // It is tried again, and told, when the agent runs.
	registry := prometheus.NewRegistry()
	var err error
	if a.canary, err = metrics.NewCanary(a.dialer, o.name, registry); err != nil {
		return nil, err
	}
	if a.history, err = metrics.OpenHistory(o.directory); err != nil {
		logger.Warn("Goes on without the history", "error", err)
	}
	if a.reloads, err = loop(o, a.dialer, registry, logger); err != nil {
		return nil, err
	}
	a.memory = &memory.Loop{File: o.cacheMemory, Dialer: a.dialer, Interval: o.reloadInterval, Logger: logger}
	if a.bridge, err = metrics.Listen(o.directory, a.dialer, logger); err != nil {
		return nil, err
	}
	if err := register(registry, a.history, a.dialer, a.bridge, logger); err != nil {
		return nil, err
	}
	if a.listener, err = net.Listen("tcp", o.bind); err != nil {
		return nil, fmt.Errorf("listen on --bind-address: %w", err)
	}
	a.server = &http.Server{
		Handler:           a.handler(registry),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: requestTimeout, WriteTimeout: requestTimeout, IdleTimeout: requestTimeout,
	}
	return a, nil
}

// loop returns what reloads certificates and users.
func loop(o options, dialer *memcached.Dialer, registry prometheus.Registerer, logger *slog.Logger) (*reload.Loop, error) {
	var kinds []reload.What
	if o.certificates.Certificate != "" {
		kinds = append(kinds, reload.Certificates)
	}
	if o.users != "" {
		kinds = append(kinds, reload.Users)
	}
	metrics, err := reload.NewMetrics(registry, kinds...)
	if err != nil {
		return nil, fmt.Errorf("register the metrics of reloads: %w", err)
	}
	memcached := memcached.Process{Name: o.process, Directory: "/proc"}
	return &reload.Loop{
		Certificates: o.certificates, Users: o.users, Dialer: dialer, Interval: o.reloadInterval, Metrics: metrics, Logger: logger,
		Hangup: memcached.Hangup, Started: memcached.Started,
	}, nil
}

// run runs everything until ctx ends or a part fails, and returns when all of it has stopped.
func (a *agent) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var parts sync.WaitGroup
	parts.Go(func() {
		if err := a.bridge.Serve(ctx); err != nil {
			cancel(err)
		}
	})
	parts.Go(func() { a.tend(ctx) })
	parts.Go(func() {
		if err := a.server.Serve(a.listener); !errors.Is(err, http.ErrServerClosed) {
			cancel(fmt.Errorf("serve metrics and probes: %w", err))
		}
	})
	a.logger.Info("Serving", "address", a.listener.Addr().String(), "memcached", a.options.memcached)
	<-ctx.Done()
	stopping, done := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer done()
	if err := a.server.Shutdown(stopping); err != nil {
		a.logger.Warn("Some requests were not answered", "error", err)
		_ = a.server.Close() // What it could say is said.
	}
	parts.Wait()
	_ = a.canary.Close() // Memcached hears of it anyway.
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
