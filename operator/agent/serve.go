package agent

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	kitlog "github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/memcached_exporter/pkg/exporter"

	"github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/agent/memcached"
	"github.com/example/memcached-operator/operator/agent/metrics"
)

// scrapeTimeout is how long memcached may take for each of the exporter's questions. It asks up to two before it gives up,
// and Prometheus waits 10 seconds for the whole scrape.
const scrapeTimeout = 2 * time.Second

// register registers what is collected at each scrape.
func register(registry *prometheus.Registry, history *metrics.History, dialer *memcached.Dialer, way *metrics.Bridge, logger *slog.Logger) error {
	for _, collector := range []prometheus.Collector{
		bridged{exporter.New(way.Address(), scrapeTimeout, kitLogger(logger), nil), way},
		history,
		&servedCertificate{dialer: dialer},
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	} {
		if err := registry.Register(collector); err != nil {
			return fmt.Errorf("register metrics: %w", err)
		}
	}
	return nil
}

// bridged is the exporter, which makes a connection at each scrape and never closes it.
type bridged struct {
	prometheus.Collector
	way *metrics.Bridge
}

// Collect implements prometheus.Collector.
func (b bridged) Collect(collected chan<- prometheus.Metric) {
	b.way.Lend(func() { b.Collector.Collect(collected) })
}

// kitLogger passes on what the exporter logs. Only its errors are worth a line: it also notes, at every scrape, each
// statistic that a version of memcached lacks.
func kitLogger(logger *slog.Logger) kitlog.Logger {
	return kitlog.LoggerFunc(func(pairs ...any) error {
		severity, message := slog.LevelDebug, "The exporter reports"
		var rest []any
		for i := 0; i+1 < len(pairs); i += 2 {
			switch {
			case pairs[i] == level.Key():
				if pairs[i+1] == level.ErrorValue() {
					severity = slog.LevelWarn
				}
			case pairs[i] == "msg":
				message = fmt.Sprintf("%s: %v", message, pairs[i+1])
			default:
				rest = append(rest, pairs[i], pairs[i+1])
			}
		}
		logger.Log(context.Background(), severity, message, rest...)
		return nil
	})
}

var (
	notAfter = prometheus.NewDesc("memcached_agent_certificate_not_after_timestamp_seconds",
		"When the certificate that memcached showed last expires, in seconds since 1970. Absent without TLS.", nil, nil)
	notBefore = prometheus.NewDesc("memcached_agent_certificate_not_before_timestamp_seconds",
		"Since when the certificate that memcached showed last is valid, in seconds since 1970. Absent without TLS.", nil, nil)
)

// servedCertificate collects the dates of memcached's certificate.
type servedCertificate struct {
	dialer *memcached.Dialer
}

// Describe implements prometheus.Collector.
func (*servedCertificate) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- notAfter
	descriptions <- notBefore
}

// Collect implements prometheus.Collector.
func (s *servedCertificate) Collect(collected chan<- prometheus.Metric) {
	if certificate := s.dialer.Served(); certificate != nil {
		collected <- prometheus.MustNewConstMetric(notAfter, prometheus.GaugeValue, float64(certificate.NotAfter.Unix()))
		collected <- prometheus.MustNewConstMetric(notBefore, prometheus.GaugeValue, float64(certificate.NotBefore.Unix()))
	}
}

// handler serves metrics, probes and the state.
func (a *agent) handler(registry *prometheus.Registry) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(a.logger.Handler(), slog.LevelWarn), MaxRequestsInFlight: 4,
	}))
	mux.Handle("GET /healthz", probe(func(*http.Request) error { return nil }))
	mux.Handle("GET /livez", probe(func(r *http.Request) error {
		_, err := a.together(r, func(ctx context.Context) (any, error) { return nil, a.dialer.Alive(ctx) })
		return err
	}))
	mux.Handle("GET /readyz", probe(func(r *http.Request) error {
		_, err := a.together(r, func(ctx context.Context) (any, error) { return nil, a.ready(ctx) })
		return err
	}))
	mux.HandleFunc("GET "+api.StatePath, a.serveState)
	return mux
}

// together asks memcached once for all requests of a kind that come while it is asked. Anybody can send requests: so however
// many come, they take one of memcached's connections for each kind, and no probe waits behind those of others.
func (a *agent) together(r *http.Request, ask func(context.Context) (any, error)) (any, error) {
	answer, err, _ := a.questions.Do(r.Pattern, func() (any, error) {
		// The others still wait when the first of them hangs up.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), a.options.probeTimeout)
		defer cancel()
		return ask(ctx)
	})
	return answer, err
}

// ready says why memcached does not let the agent in, or does not answer it, if so.
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
func probe(check func(*http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if err := check(r); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = fmt.Fprintln(w, err) // Who hung up needs no answer.
			return
		}
		_, _ = fmt.Fprintln(w, "ok")
	}
}
