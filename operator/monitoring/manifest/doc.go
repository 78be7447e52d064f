// Package manifest contains the objects for monitoring systems. It is pure; other packages apply the objects.
//
//   - Operator: alerts (alerts.yaml), a dashboard (dashboard.json) and a ServiceMonitor for the operator's own metrics, once
//     for all caches. Package monitoring installs them in the operator's namespace.
//   - ServiceMonitor: one for each cache. It is part of the cache's plan.
//
// The kinds belong to other projects: PrometheusRule and ServiceMonitor to the Prometheus Operator, GrafanaDashboard to the
// Grafana Operator. Applying them does not need their Go types.
//
// Alerts and dashboard rely on the following:
//
//   - ServiceMonitor adds the label memcached, the name of the cache, to all metrics of a pod, up included. Alerts filter by
//     it where another memcached exporter has a metric of the same name. The Prometheus Operator adds namespace and pod.
//   - Every replica of the operator counts all objects, so expressions use max, not sum.
//   - An alert is about a problem that clients of a cache notice now or soon. Each has a page in olm/runbooks.
//   - The rules work with Prometheus 2.42 and later; they are tested with that version.
package manifest
