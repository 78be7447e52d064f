package manifest

import (
	_ "embed" // Alerts and dashboard are files, so that other tools can check them.
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/operator/kube/owned"
)

// The names of the operator's objects. They must not change, or the old objects would stay beside the new ones.
const (
	alertsName    = "memcached-operator-alerts"
	monitorName   = "memcached-operator-metrics"
	dashboardName = "memcached-operator-dashboard"
)

// dashboardFile is the key of the dashboard in its ConfigMap.
const dashboardFile = "memcached.json"

// The kinds of the operator's objects.
var (
	// PrometheusRuleKind is the kind of alerts.
	PrometheusRuleKind = schema.FromAPIVersionAndKind(monitoringVersion, "PrometheusRule")

	// GrafanaDashboardKind is the kind of dashboards of the Grafana Operator.
	GrafanaDashboardKind = schema.FromAPIVersionAndKind("grafana.integreatly.org/v1beta1", "GrafanaDashboard")
)

// alerts is a rule file of Prometheus.
//
//go:embed alerts.yaml
var alerts []byte

// dashboard is a dashboard in Grafana's import format.
//
//go:embed dashboard.json
var dashboard string

// Wanted is one of the operator's objects.
type Wanted struct {
	// Object is the object to apply.
	Object *unstructured.Unstructured

	// For are the kinds that make the object useful: it is applied if the cluster has at least one of them.
	For []schema.GroupVersionKind
}

// Operator returns the objects for all caches, in the order in which they are applied. namespace is the operator's own.
// It fails if an embedded file is invalid.
func Operator(namespace string) ([]Wanted, error) {
	var rules map[string]any
	if err := yaml.UnmarshalStrict(alerts, &rules); err != nil {
		return nil, fmt.Errorf("read alerts.yaml: %w", err)
	}
	return []Wanted{
		{
			Object: newObject(PrometheusRuleKind, namespace, alertsName, map[string]any{"spec": rules}),
			For:    []schema.GroupVersionKind{PrometheusRuleKind},
		},
		{Object: operatorMonitor(namespace), For: []schema.GroupVersionKind{ServiceMonitorKind}},
		{
			// The sidecar of Grafana's Helm chart selects this label. Grafana itself cannot be detected, but a cluster
			// with Prometheus usually has it.
			Object: newObject(corev1.SchemeGroupVersion.WithKind("ConfigMap"), namespace, dashboardName,
				map[string]any{"data": map[string]any{dashboardFile: dashboard}}, "grafana_dashboard", "1"),
			For: []schema.GroupVersionKind{PrometheusRuleKind, GrafanaDashboardKind},
		},
		{Object: grafanaDashboard(namespace), For: []schema.GroupVersionKind{GrafanaDashboardKind}},
	}, nil
}

// newObject adds kind and metadata to the content of an object. pairs are additional labels: key and value of each.
func newObject(kind schema.GroupVersionKind, namespace, name string, content map[string]any, pairs ...string) *unstructured.Unstructured {
	labels := map[string]string{owned.LabelName: owned.Manager, owned.LabelComponent: "monitoring", owned.LabelManagedBy: owned.Manager}
	for i := 0; i+1 < len(pairs); i += 2 {
		labels[pairs[i]] = pairs[i+1]
	}
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(namespace)
	object.SetName(name)
	object.SetLabels(labels)
	return object
}

// operatorMonitor returns the ServiceMonitor of the operator's own metrics, for the Service of the bundle. The API
// server has to authorize the reader of /metrics, so Prometheus sends its token. Its ServiceAccount needs the
// ClusterRole memcached-operator-metrics-reader or an equivalent one.
func operatorMonitor(namespace string) *unstructured.Unstructured {
	return newObject(ServiceMonitorKind, namespace, monitorName, map[string]any{"spec": map[string]any{
		"selector": map[string]any{"matchLabels": map[string]any{
			owned.LabelName: owned.Manager, "control-plane": "controller-manager",
		}},
		"endpoints": []any{map[string]any{
			"port": "https", "scheme": "https",
			// Deprecated, but the alternative is a Secret with a token that the user has to renew.
			"bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token",
			// The operator creates a self-signed certificate at each start, which cannot be verified. An attacker who can
			// impersonate this Service inside the cluster obtains Prometheus's token. To prevent that, disable
			// ServiceMonitors of this form (arbitraryFSAccessThroughSMs), or scrape through a mesh.
			"tlsConfig": map[string]any{"insecureSkipVerify": true},
		}},
	}})
}

// grafanaDashboard returns the object that makes the Grafana Operator load the dashboard from its ConfigMap, into every
// Grafana with the label that its documentation uses. The selector is immutable.
func grafanaDashboard(namespace string) *unstructured.Unstructured {
	return newObject(GrafanaDashboardKind, namespace, dashboardName, map[string]any{"spec": map[string]any{
		"allowCrossNamespaceImport": true,
		"instanceSelector":          map[string]any{"matchLabels": map[string]any{"dashboards": "grafana"}},
		"configMapRef":              map[string]any{"name": dashboardName, "key": dashboardFile},
	}})
}
