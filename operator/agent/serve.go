package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/agent/memcached"
)

// handler serves metrics, probes and the state.
func (a *agent) handler(registry *prometheus.Registry) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(a.logger.Handler(), slog.LevelWarn), MaxRequestsInFlight: 4,
	}))
	mux.HandleFunc("GET /healthz", a.probe(func(context.Context) error { return nil }))
	mux.HandleFunc("GET /livez", a.probe(a.dialer.Alive))
	mux.HandleFunc("GET /readyz", a.probe(a.ready))
	mux.HandleFunc("GET "+api.StatePath, a.serveState)
	return mux
}

// share asks memcached once for all requests of a kind that come while it is asked. Anybody can send requests: so any number of
// them takes one of memcached's connections for each kind, and no probe waits for requests of other kinds.
func (a *agent) share(r *http.Request, ask func(context.Context) (any, error)) (any, error) {
	answer, err, _ := a.queries.Do(r.Pattern, func() (any, error) {
		// The others still wait when the client of the first one hangs up.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), a.options.probeTimeout)
		defer cancel()
		return ask(ctx)
	})
	return answer, err
}

// ready returns an error unless memcached lets the agent in, and answers it.
func (a *agent) ready(ctx context.Context) error {
	conn, err := a.dialer.Dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Version(ctx)
	return err
}

// probe answers 200 if check has no error, else 503 and the error, which the kubelet shows in an event.
func (a *agent) probe(check func(context.Context) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, err := a.share(r, func(ctx context.Context) (any, error) { return nil, check(ctx) })
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = fmt.Fprintln(w, err) // A client that hung up needs no answer.
			return
		}
		_, _ = fmt.Fprintln(w, "ok")
	}
}

// serveState answers with the current state, or 503 and why memcached does not tell it.
func (a *agent) serveState(w http.ResponseWriter, r *http.Request) {
	s, err := a.share(r, func(ctx context.Context) (any, error) { return a.state(ctx) })
	if err != nil {
		http.Error(w, memcached.Brief(err), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(s) // A client that hung up needs no answer.
}
