package manifest

import (
	"maps"

	"k8s.io/apimachinery/pkg/runtime/schema"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
)

// monitoringVersion is the API version of the Prometheus Operator's kinds.
const monitoringVersion = "monitoring.coreos.com/v1"

// ServiceMonitorKind is the kind that tells a Prometheus what to scrape.
var ServiceMonitorKind = schema.FromAPIVersionAndKind(monitoringVersion, "ServiceMonitor")

// CacheLabel is the label of metrics that names the cache that a node belongs to.
const CacheLabel = "memcached"

// MetricsPortName is the name of the port, in pods and in the headless Service, at which an agent serves metrics.
const MetricsPortName = "metrics"

// Cache is what the ServiceMonitor of a cache is made of.
type Cache struct {
	// Name and Namespace are those of the Memcached, and of its ServiceMonitor.
	Name, Namespace string

	// Labels are those of every object of the cache. They win over UserLabels.
	Labels map[string]string

	// UserLabels are from spec.monitoring.labels: a Prometheus may select by them.
	UserLabels map[string]string

	// Selector is labels of the headless Service, which also lists nodes that are not ready: those are the ones to look at.
	// Another Service with these labels must have no port of the name MetricsPortName, or nodes are scraped twice.
	Selector map[string]string

	// Owner is the Memcached.
	Owner *metav1ac.OwnerReferenceApplyConfiguration
}

// ServiceMonitor returns how the metrics of a cache's nodes are found. It is for clusters that know ServiceMonitorKind.
func ServiceMonitor(cache Cache) *Object {
	labels := map[string]string{}
	maps.Copy(labels, cache.UserLabels)
	maps.Copy(labels, cache.Labels)
	return newObject(monitoringVersion, ServiceMonitorKind.Kind, cache.Namespace, cache.Name, labels).
		withMetadata("ownerReferences", []any{cache.Owner}).
		with("spec", map[string]any{
			"selector": map[string]any{"matchLabels": cache.Selector},
			"endpoints": []any{map[string]any{
				"port": MetricsPortName,
				"relabelings": []any{map[string]any{
					// The API server would add it, and what it adds looks like a change that somebody made.
					"action":      "replace",
					"targetLabel": CacheLabel,
					"replacement": cache.Name,
				}},
			}},
		})
}
