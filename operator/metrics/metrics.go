// Package metrics contains the operator's own metrics. Metrics about reconciles, queues and API requests come from
// controller-runtime.
package metrics

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
)

// scrapeTimeout is how long a scrape waits for the cache, which is necessary only while the operator starts.
const scrapeTimeout = time.Second

// Metrics are the operator's metrics.
type Metrics struct {
	outcomes    *prometheus.CounterVec
	upgradeable *prometheus.GaugeVec // A vector without labels: unlike a Gauge, it is absent until it is set.
}

// Register creates the metrics and registers them. Objects are counted at each scrape from reader's cache, so a deleted
// object is not counted. Every replica of the operator counts all objects: take the maximum, not the sum.
func Register(registerer prometheus.Registerer, reader client.Reader) (*Metrics, error) {
	m := &Metrics{
		outcomes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "memcached_operator_reconcile_outcomes_total",
			Help: "Reconciles by result: outcome is Succeeded, Waiting, Terminal, Stale or Error, " +
				"and reason is the reason of the condition.",
		}, []string{"kind", "outcome", "reason"}),
		upgradeable: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "memcached_operator_upgradeable",
			Help: "1 if the condition Upgradeable for OLM is True, 0 if it is False. " +
				"Absent without OLM and on replicas that are not the leader.",
		}, nil),
	}
	for _, collector := range []prometheus.Collector{m.outcomes, m.upgradeable, &objects{reader: reader}} {
		if err := registerer.Register(collector); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}

// Reconciled counts a reconcile of an object of the given kind that returned err.
func (m *Metrics) Reconciled(kind string, err error) {
	class, reason := reconcileerror.Describe(err)
	m.outcomes.WithLabelValues(kind, string(class), reason).Inc()
}

// Upgradeable records the status of the condition Upgradeable.
func (m *Metrics) Upgradeable(yes bool) {
	value := 0.0
	if yes {
		value = 1
	}
	m.upgradeable.WithLabelValues().Set(value)
}

var (
	managedObjects = prometheus.NewDesc("memcached_operator_managed_objects",
		"Custom resources of the operator, by kind.", []string{"kind"}, nil)
	readyObjects = prometheus.NewDesc("memcached_operator_ready_objects",
		"Custom resources of the operator whose condition Ready is True, by kind.", []string{"kind"}, nil)
	updatePending = prometheus.NewDesc("memcached_operator_update_pending",
		"1 for each Memcached with a change that waits for approval. Absent for all others.", []string{"cache_namespace", "cache"}, nil)
)

// objects counts custom resources at each scrape.
type objects struct {
	reader client.Reader
}

// Describe implements prometheus.Collector.
func (o *objects) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- managedObjects
	descriptions <- readyObjects
	descriptions <- updatePending
}

// Collect implements prometheus.Collector. It leaves out these metrics while the cache cannot answer; other metrics are
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
		_ = meta.EachListItem(list, func(item runtime.Object) error { // Cannot fail: list is a list, and the function returns nil.
			all++
			object, ok := item.(interface {
				client.Object
				GetConditions() []metav1.Condition
			})
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
