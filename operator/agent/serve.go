package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/agent/memcached"
)

// handler serves metrics, probes and the state.
func (a *agent) handler(registry *prometheus.Registry) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", a.serveMetrics(registry))
	mux.HandleFunc("GET /healthz", a.probe(func(context.Context) error { return nil }))
	mux.HandleFunc("GET /livez", a.probe(a.dialer.Alive))
	mux.HandleFunc("GET /readyz", a.probe(a.ready))
	mux.HandleFunc("GET "+api.StatePath, a.serveState)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 { // While a body is to come, nothing tells that the client has gone.
			http.Error(w, "a request has no body here", http.StatusRequestEntityTooLarge)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// share asks memcached once for all requests of a kind that come while it is asked. Anybody can send requests: so any number of
// them takes one of memcached's connections for each kind, and no probe waits for requests of other kinds. A client that has gone
// is not waited for.
func (a *agent) share(r *http.Request, ask func(context.Context) (any, error)) (any, error) {
	answer := a.queries.DoChan(r.Pattern, func() (any, error) {
		// The others still wait when the client of the first one hangs up.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), a.options.probeTimeout)
		defer cancel()
		return ask(ctx)
	})
	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case result := <-answer:
		return result.Val, result.Err
	}
}

// serveMetrics answers with all metrics, as text: to compress it for many clients would take more memory than the agent has.
func (a *agent) serveMetrics(registry *prometheus.Registry) http.HandlerFunc {
	format := expfmt.NewFormat(expfmt.TypeTextPlain)
	gather := func(context.Context) (any, error) {
		families, err := registry.Gather()
		page := &bytes.Buffer{}
		for _, family := range families {
			err = errors.Join(err, expfmt.NewEncoder(page, format).Encode(family))
		}
		if err != nil {
			a.logger.Warn("Cannot gather all metrics", "error", err)
		}
		return page.Bytes(), err
	}
	return func(w http.ResponseWriter, r *http.Request) {
		page, err := a.share(r, gather)
		if err != nil {
			http.Error(w, memcached.Brief(err), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", string(format))
		_, _ = w.Write(page.([]byte)) // A client that hung up needs no answer.
	}
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
