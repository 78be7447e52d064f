package metrics

import (
	"fmt"
	"log/slog"
	"time"

	kitlog "github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/memcached_exporter/pkg/exporter"
)

// scrapeTimeout is how long memcached may take for each query of the exporter. It makes up to two before it gives up, and
// Prometheus waits 10 seconds for the whole scrape.
const scrapeTimeout = 2 * time.Second

// bridgedExporter is prometheus/memcached_exporter, which reaches memcached through the bridge.
type bridgedExporter struct {
	prometheus.Collector
	bridge *Bridge
	logger *slog.Logger
}

func newExporter(bridge *Bridge, logger *slog.Logger) prometheus.Collector {
	return bridgedExporter{exporter.New(bridge.Address(), scrapeTimeout, kitLogger(logger), nil), bridge, logger}
}

// Collect implements prometheus.Collector. memcached_exporter panics where an answer is not memcached's, for example on a version that is
// no text (0.14.3), and the agent has more to do.
func (e bridgedExporter) Collect(collected chan<- prometheus.Metric) {
	defer func() {
		if reason := recover(); reason != nil {
			e.logger.Warn("The exporter cannot read what memcached answers", "error", reason)
		}
	}()
	e.bridge.Serve(func() { e.Collector.Collect(collected) })
}

// kitLogger logs the errors of the exporter as warnings. It drops the rest: at every scrape the exporter logs each statistic that
// a version of memcached lacks.
func kitLogger(logger *slog.Logger) kitlog.Logger {
	warn := func(pairs ...any) error {
		message := "The exporter reports"
		var rest []any
		for i := 0; i+1 < len(pairs); i += 2 {
			switch pairs[i] {
			case level.Key():
			case "msg":
				message = fmt.Sprintf("%s: %v", message, pairs[i+1])
			default:
				rest = append(rest, pairs[i], pairs[i+1])
			}
		}
		logger.Warn(message, rest...)
		return nil
	}
	return level.NewFilter(kitlog.LoggerFunc(warn), level.AllowError())
}
