package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"golang.org/x/sync/singleflight"

	"github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/agent/memcached"
)

// queryInterval is the time between two queries for the same page. With it and the probe timeout, an answer comes before the kubelet
// gives up.
const queryInterval = 100 * time.Millisecond

// handler serves metrics, probes and the state.
func (a *agent) handler(registry *prometheus.Registry) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", a.serveMetrics(registry))
	mux.HandleFunc("GET /healthz", a.probe(func(context.Context) error { return nil }))
	mux.HandleFunc("GET /livez", a.probe(a.dialer.Alive))
	mux.HandleFunc("GET /readyz", a.probe(a.ready))
	mux.HandleFunc("GET "+api.StatePath, a.serveState())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 { // While a body is to come, nothing tells that the client has gone.
			http.Error(w, "a request has no body here", http.StatusRequestEntityTooLarge)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// query asks memcached once for all requests that come while it is asked, and not again at once. Anybody can send requests: so any
// number of them takes one of memcached's connections for each page, and no probe waits for requests of other pages.
type query struct {
	ask   func(context.Context) (any, error)
	limit time.Duration // How long memcached may take.
	group singleflight.Group
	asked time.Time // When it was asked last.
}

func (a *agent) query(ask func(context.Context) (any, error)) *query {
	return &query{ask: ask, limit: a.options.probeTimeout}
}

// answer returns what memcached says, or an error if it does not, or the client has gone.
func (q *query) answer(r *http.Request) (any, error) {
	answer := q.group.DoChan("", func() (any, error) {
		<-time.After(queryInterval - time.Since(q.asked))
		q.asked = time.Now()
		// The others still wait when the client of the first one hangs up.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), q.limit)
		defer cancel()
		return q.ask(ctx)
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
	gathering := a.query(func(context.Context) (any, error) {
		families, err := registry.Gather()
		page := &bytes.Buffer{}
		for _, family := range families {
			err = errors.Join(err, expfmt.NewEncoder(page, format).Encode(family))
		}
		if err != nil {
			a.logger.Warn("Cannot gather all metrics", "error", err)
		}
		return page.Bytes(), err
	})
	return func(w http.ResponseWriter, r *http.Request) {
		page, err := gathering.answer(r)
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
	checking := a.query(func(ctx context.Context) (any, error) { return nil, check(ctx) })
	return func(w http.ResponseWriter, r *http.Request) {
		_, err := checking.answer(r)
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
func (a *agent) serveState() http.HandlerFunc {
	asking := a.query(func(ctx context.Context) (any, error) { return a.state(ctx) })
	return func(w http.ResponseWriter, r *http.Request) {
		s, err := asking.answer(r)
		if err != nil {
			http.Error(w, memcached.Brief(err), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s) // A client that hung up needs no answer.
	}
}
