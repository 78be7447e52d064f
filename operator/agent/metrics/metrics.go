// Package metrics measures memcached: what the exporter of Prometheus reads from its statistics, what a canary item shows of
// its latency, how it was started, and how many gets find an item. It changes nothing in memcached but the canary item.
package metrics

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/example/memcached-operator/operator/agent/memcached"
)

// Register registers all metrics that are collected at a scrape.
func Register(registry *prometheus.Registry, dialer *memcached.Dialer, bridge *Bridge, history *History, logger *slog.Logger) {
	registry.MustRegister(
		newExporter(bridge, logger),
		prometheus.CollectorFunc(history.Collect),
		servedCertificate(dialer),
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
}

var (
	notAfter = prometheus.NewDesc("memcached_agent_certificate_not_after_timestamp_seconds",
		"When the certificate that memcached showed last expires, in seconds since 1970. Absent without TLS.", nil, nil)
	notBefore = prometheus.NewDesc("memcached_agent_certificate_not_before_timestamp_seconds",
		"Since when the certificate that memcached showed last is valid, in seconds since 1970. Absent without TLS.", nil, nil)
)

// servedCertificate collects the dates of memcached's certificate.
func servedCertificate(dialer *memcached.Dialer) prometheus.CollectorFunc {
	return func(collected chan<- prometheus.Metric) {
		if certificate := dialer.Served(); certificate != nil {
			collected <- prometheus.MustNewConstMetric(notAfter, prometheus.GaugeValue, float64(certificate.NotAfter.Unix()))
			collected <- prometheus.MustNewConstMetric(notBefore, prometheus.GaugeValue, float64(certificate.NotBefore.Unix()))
		}
	}
}
