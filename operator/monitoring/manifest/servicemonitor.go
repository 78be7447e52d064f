package manifest

import (
	"encoding/json"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/runtime/schema"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/utils/ptr"
)

// monitoringVersion is the API version of the Prometheus Operator's kinds.
const monitoringVersion = "monitoring.coreos.com/v1"

// ServiceMonitorKind is the kind that tells Prometheus what to scrape.
var ServiceMonitorKind = schema.FromAPIVersionAndKind(monitoringVersion, "ServiceMonitor")

// CacheLabel is the metric label with the name of the cache.
const CacheLabel = "memcached"

// MetricsPortName is the name of the agent's metrics port, in pods and in the headless Service.
const MetricsPortName = "metrics"

// What Prometheus takes of one pod at a scrape. A memcached that was taken over can answer in the place of its agent, and is not to
// fill Prometheus. An agent whose memcached uses all of its 63 slab classes shows 2,596 samples in 155 kB. Labels include those that
// a Prometheus adds.
const (
	SampleLimit = 6000
	BodyLimit   = 2 << 20 // In bytes.

	labelLimit      = 64
	labelNameLimit  = 256
	labelValueLimit = 1024
)

// NewestLimit is the field of the limits that came last to ServiceMonitors, in Prometheus Operator 0.73 (pull request 6303). The API
// server refuses to apply a field that the CRD does not declare.
const NewestLimit = "bodySizeLimit"

// Cache is the input of ServiceMonitor.
type Cache struct {
	// Name and Namespace are those of the Memcached, and of its ServiceMonitor.
	Name, Namespace string

	// Labels are the labels of every object of the cache. They take precedence over UserLabels.
	Labels map[string]string

	// UserLabels are spec.monitoring.labels, which a Prometheus may select by.
	UserLabels map[string]string

	// Selector selects the headless Service, which also lists pods that are not ready: their metrics matter most. Another
	// Service with these labels must not have a port called MetricsPortName, or pods would be scraped twice.
	Selector map[string]string

	// Owner is the Memcached.
	Owner *metav1ac.OwnerReferenceApplyConfiguration

	// Limits is true if the CRD declares NewestLimit, and all limits before it.
	Limits bool
}

// ServiceMonitor returns the ServiceMonitor of a cache, for clusters that have ServiceMonitorKind.
func ServiceMonitor(cache Cache) *Monitor {
	labels := map[string]string{}
	maps.Copy(labels, cache.UserLabels)
	maps.Copy(labels, cache.Labels)
	spec := map[string]any{
		"selector":    map[string]any{"matchLabels": cache.Selector},
		"sampleLimit": SampleLimit,
		"endpoints": []any{map[string]any{
			"port": MetricsPortName,
			"relabelings": []any{map[string]any{
				// The default of the API server. Without it, the default would look like a change by another client.
				"action":      "replace",
				"targetLabel": CacheLabel,
				"replacement": cache.Name,
			}},
		}},
	}
	if cache.Limits {
		spec[NewestLimit] = fmt.Sprintf("%dMiB", BodyLimit>>20)
		spec["labelLimit"], spec["labelNameLengthLimit"], spec["labelValueLengthLimit"] = labelLimit, labelNameLimit, labelValueLimit
	}
	return &Monitor{name: cache.Name, namespace: cache.Namespace, content: map[string]any{
		"apiVersion": monitoringVersion, "kind": ServiceMonitorKind.Kind,
		"metadata": map[string]any{
			"namespace": cache.Namespace, "name": cache.Name, "labels": labels, "ownerReferences": []any{cache.Owner},
		},
		"spec": spec,
	}}
}

// Monitor is the apply configuration of a ServiceMonitor. It implements owned.Configuration.
type Monitor struct {
	name, namespace string
	content         map[string]any
}

// MarshalJSON implements json.Marshaler. The same content gives the same result.
func (m *Monitor) MarshalJSON() ([]byte, error) { return json.Marshal(m.content) }

// IsApplyConfiguration implements runtime.ApplyConfiguration.
func (*Monitor) IsApplyConfiguration() {}

// GetAPIVersion returns the group and version of ServiceMonitorKind.
func (*Monitor) GetAPIVersion() *string { return ptr.To(monitoringVersion) }

// GetKind returns the name of ServiceMonitorKind.
func (*Monitor) GetKind() *string { return ptr.To(ServiceMonitorKind.Kind) }

// GetNamespace returns the namespace, never nil.
func (m *Monitor) GetNamespace() *string { return &m.namespace }

// GetName returns the name, never nil.
func (m *Monitor) GetName() *string { return &m.name }
