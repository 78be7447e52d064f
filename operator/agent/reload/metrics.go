package reload

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics count reloads.
type metrics struct {
	attempts *prometheus.CounterVec
	pending  *prometheus.GaugeVec
	success  *prometheus.GaugeVec
}

// Register registers the metrics of the kinds of reloads that have files.
func (l *Loop) Register(registerer prometheus.Registerer) {
	factory := promauto.With(registerer)
	l.metrics = metrics{
		attempts: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "memcached_agent_reloads_total",
			Help: "Attempts to make memcached take over the certificates or users on disk: outcome is success or failure.",
		}, []string{"what", "outcome"}),
		pending: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "memcached_agent_reload_pending",
			Help: "1 while memcached is not known to use the certificates or users on disk, else 0.",
		}, []string{"what"}),
		success: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "memcached_agent_reload_last_success_timestamp_seconds",
			Help: "When memcached was last seen to take over the certificates or users on disk, in seconds since 1970.",
		}, []string{"what"}),
	}
	for what, file := range map[What]string{Certificates: l.Certificates.Certificate, Users: l.Users} {
		if file != "" {
			l.metrics.attempts.WithLabelValues(string(what), "success")
			l.metrics.attempts.WithLabelValues(string(what), "failure")
			l.metrics.begun(what)
		}
	}
}

func (m metrics) begun(what What) {
	m.pending.WithLabelValues(string(what)).Set(1)
}

func (m metrics) failed(what What) {
	m.attempts.WithLabelValues(string(what), "failure").Inc()
	m.begun(what) // The files may be unreadable, and no reload have begun.
}

func (m metrics) succeeded(what What, now time.Time) {
	m.attempts.WithLabelValues(string(what), "success").Inc()
	m.settled(what, now)
}

func (m metrics) settled(what What, now time.Time) {
	m.pending.WithLabelValues(string(what)).Set(0)
	m.success.WithLabelValues(string(what)).Set(float64(now.Unix()))
}
