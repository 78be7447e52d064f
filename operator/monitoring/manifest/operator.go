package manifest

import (
	_ "embed" // Alerts and dashboard are files, so that their own tools can check them.
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/operator/kube/owned"
)

// The names of the operator's objects. They are never changed, or the old ones would stay beside the new ones.
const (
	alertsName    = "memcached-operator-alerts"
	monitorName   = "memcached-operator-metrics"
	dashboardName = "memcached-operator-dashboard"
)

// dashboardFile is the key of the dashboard in its ConfigMap.
const dashboardFile = "memcached.json"

// The kinds that the operator's objects are for.
var (
	// PrometheusRuleKind holds alerts.
	PrometheusRuleKind = schema.FromAPIVersionAndKind(monitoringVersion, "PrometheusRule")

	// GrafanaDashboardKind is a dashboard for the Grafana Operator.
	GrafanaDashboardKind = schema.FromAPIVersionAndKind("grafana.integreatly.org/v1beta1", "GrafanaDashboard")
)

// alerts is a file of rules as Prometheus reads it.
//
//go:embed alerts.yaml
var alerts []byte

// dashboard is as Grafana imports it.
//
//go:embed dashboard.json
var dashboard string

// Wanted is one of the operator's objects.
type Wanted struct {
	// Object is what to apply.
	Object *Object

	// For are the kinds of which the cluster has to know at least one; else the object is of no use.
	For []schema.GroupVersionKind
}

// Operator returns what is made once for all caches, in the operator's own namespace, in the order in which it is to be
// applied. The error says that a file of this package is broken.
func Operator(namespace string) ([]Wanted, error) {
	var rules map[string]any
	if err := yaml.UnmarshalStrict(alerts, &rules); err != nil {
		return nil, fmt.Errorf("read alerts.yaml: %w", err)
	}
	return []Wanted{
		{
			Object: newObject(monitoringVersion, PrometheusRuleKind.Kind, namespace, alertsName, labels()).with("spec", rules),
			For:    []schema.GroupVersionKind{PrometheusRuleKind},
		},
		{Object: operatorMonitor(namespace), For: []schema.GroupVersionKind{ServiceMonitorKind}},
		{
			// The sidecar of Grafana's Helm chart looks for this label. That Grafana is there cannot be seen, but hardly
			// anybody runs a Prometheus without.
			Object: newObject("v1", "ConfigMap", namespace, dashboardName, labels("grafana_dashboard", "1")).
				with("data", map[string]any{dashboardFile: dashboard}),
			For: []schema.GroupVersionKind{PrometheusRuleKind, GrafanaDashboardKind},
		},
		{Object: grafanaDashboard(namespace), For: []schema.GroupVersionKind{GrafanaDashboardKind}},
	}, nil
}

// labels returns those of all of the operator's objects, and pairs of a key and a value.
func labels(pairs ...string) map[string]string {
	all := map[string]string{owned.LabelName: owned.Manager, owned.LabelComponent: "monitoring", owned.LabelManagedBy: owned.Manager}
	for i := 0; i+1 < len(pairs); i += 2 {
		all[pairs[i]] = pairs[i+1]
	}
	return all
}

// operatorMonitor finds the operator's own metrics, through the Service of the bundle. They are shown to whom the API server
// lets read /metrics, so Prometheus shows its token, which needs the ClusterRole memcached-operator-metrics-reader or the
// like.
func operatorMonitor(namespace string) *Object {
	return newObject(monitoringVersion, ServiceMonitorKind.Kind, namespace, monitorName, labels()).with("spec", map[string]any{
		"selector": map[string]any{"matchLabels": map[string]string{
			owned.LabelName: owned.Manager, "control-plane": "controller-manager",
		}},
		"endpoints": []any{map[string]any{
			"port": "https", "scheme": "https",
			// Deprecated, but what would replace it is a Secret with a token that somebody has to keep valid.
			"bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token",
			// The operator makes itself a certificate at each start, which nobody can verify. Who can pretend to be this
			// Service inside the cluster learns Prometheus's token; a cluster in which that matters turns this object's kind
			// off (arbitraryFSAccessThroughSMs), or scrapes through a mesh.
			"tlsConfig": map[string]any{"insecureSkipVerify": true},
		}},
	})
}

// grafanaDashboard makes the Grafana Operator load the dashboard from its ConfigMap, into every Grafana that bears the label
// which its documentation uses throughout. The selector can never be changed.
func grafanaDashboard(namespace string) *Object {
	return newObject("grafana.integreatly.org/v1beta1", GrafanaDashboardKind.Kind, namespace, dashboardName, labels()).
		with("spec", map[string]any{
			"allowCrossNamespaceImport": true,
			"instanceSelector":          map[string]any{"matchLabels": map[string]string{"dashboards": "grafana"}},
			"configMapRef":              map[string]any{"name": dashboardName, "key": dashboardFile},
		})
}
