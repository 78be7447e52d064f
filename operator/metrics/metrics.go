package metrics

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
	"github.com/example/memcached-operator/operator/kube/report"
)

// scrapeTimeout is how long a scrape waits for the cache, which it only does while the operator starts.
const scrapeTimeout = time.Second

// Metrics are the operator's metrics.
type Metrics struct {
	outcomes    *prometheus.CounterVec
	upgradeable *prometheus.GaugeVec // Without labels: unlike a Gauge, it is absent until it is set.
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
		upgradeable: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "memcached_operator_upgradeable",
			Help: "1 when OLM has been told that the operator can be upgraded now, 0 when it was told to wait. " +
				"Absent outside OLM, and on replicas that do not lead.",
		}, nil),
	}
	for _, collector := range []prometheus.Collector{m.outcomes, m.upgradeable, &objects{reader: reader}} {
		if err := registerer.Register(collector); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}

// Reconciled counts a reconcile of an object of the given kind that ended with err.
func (m *Metrics) Reconciled(kind string, err error) {
	class, reason := reconcileerror.Describe(err)
	m.outcomes.WithLabelValues(kind, string(class), reason).Inc()
}

// Upgradeable notes what OLM was told last.
func (m *Metrics) Upgradeable(yes bool) {
	value := 0.0
	if yes {
		value = 1
	}
	m.upgradeable.WithLabelValues().Set(value)
}

var (
	managedObjects = prometheus.NewDesc("memcached_operator_managed_objects",
		"Objects that the operator looks after, by kind.", []string{"kind"}, nil)
	readyObjects = prometheus.NewDesc("memcached_operator_ready_objects",
		"Objects that the operator looks after whose condition Ready is True, by kind.", []string{"kind"}, nil)
	updatePending = prometheus.NewDesc("memcached_operator_update_pending",
		"1 for each Memcached with a change that waits to be released. Absent for all others.", []string{"cache_namespace", "cache"}, nil)
)

// objects counts at scrape time.
type objects struct {
	reader client.Reader
}

// Describe implements prometheus.Collector.
func (o *objects) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- managedObjects
	descriptions <- readyObjects
	descriptions <- updatePending
}

// Collect implements prometheus.Collector. While the cache cannot answer, these metrics are missing; the others are
// not affected.
func (o *objects) Collect(collected chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	for kind, list := range map[string]client.ObjectList{
		v1alpha1.MemcachedKind:      &v1alpha1.MemcachedList{},
		appv1alpha1.ApplicationKind: &appv1alpha1.ApplicationList{},
	} {
		if err := o.reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			continue
		}
		all, ready := 0, 0
		_ = meta.EachListItem(list, func(item runtime.Object) error { // Never fails: it is a list, and this returns nil.
			all++
			object, ok := item.(report.Object)
			if !ok {
				return nil
			}
			if meta.IsStatusConditionTrue(object.GetConditions(), v1alpha1.ConditionReady) {
				ready++
			}
			if meta.IsStatusConditionTrue(object.GetConditions(), v1alpha1.ConditionUpdatePending) {
				collected <- prometheus.MustNewConstMetric(updatePending, prometheus.GaugeValue, 1, object.GetNamespace(), object.GetName())
			}
			return nil
		})
		collected <- prometheus.MustNewConstMetric(managedObjects, prometheus.GaugeValue, float64(all), kind)
		collected <- prometheus.MustNewConstMetric(readyObjects, prometheus.GaugeValue, float64(ready), kind)
	}
}
