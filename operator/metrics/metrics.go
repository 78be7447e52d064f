package metrics

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/outcome"
)

// scrapeTimeout is how long a scrape waits for the cache, which it only does while the operator starts.
const scrapeTimeout = time.Second

// Metrics are the operator's metrics.
type Metrics struct {
	outcomes *prometheus.CounterVec
}

// Register creates the metrics and makes registerer expose them. The numbers of objects are counted at each scrape from
// what reader's cache holds, so that an object that is gone is gone from the metrics as well. Every replica of the
// operator counts all objects: take the maximum, not the sum.
func Register(registerer prometheus.Registerer, reader client.Reader) (*Metrics, error) {
	m := &Metrics{
		outcomes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "memcached_operator_reconcile_outcomes_total",
			Help: "How reconciles ended: outcome is Succeeded, Waiting, Terminal, Stale or Error, " +
				"and reason the reason that the condition gives for it.",
		}, []string{"kind", "outcome", "reason"}),
	}
	for _, collector := range []prometheus.Collector{m.outcomes, &objects{reader: reader}} {
		if err := registerer.Register(collector); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}

// Reconciled counts a reconcile of an object of the given kind that ended with err.
func (m *Metrics) Reconciled(kind string, err error) {
	class, reason := outcome.Describe(err)
	m.outcomes.WithLabelValues(kind, string(class), reason).Inc()
}

var (
	managedObjects = prometheus.NewDesc("memcached_operator_managed_objects",
		"Objects that the operator looks after, by kind.", []string{"kind"}, nil)
	readyObjects = prometheus.NewDesc("memcached_operator_ready_objects",
		"Objects that the operator looks after whose condition Ready is True, by kind.", []string{"kind"}, nil)
)

// objects counts at scrape time.
type objects struct {
	reader client.Reader
}

// Describe implements prometheus.Collector.
func (o *objects) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- managedObjects
	descriptions <- readyObjects
}

// Collect implements prometheus.Collector. While the cache cannot answer, the two metrics are missing; the others are
// not affected.
func (o *objects) Collect(collected chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	list := &v1alpha1.MemcachedList{}
	if err := o.reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return
	}
	ready := 0
	for i := range list.Items {
		if meta.IsStatusConditionTrue(list.Items[i].Status.Conditions, v1alpha1.ConditionReady) {
			ready++
		}
	}
	kind := v1alpha1.MemcachedKind
	collected <- prometheus.MustNewConstMetric(managedObjects, prometheus.GaugeValue, float64(len(list.Items)), kind)
	collected <- prometheus.MustNewConstMetric(readyObjects, prometheus.GaugeValue, float64(ready), kind)
}
