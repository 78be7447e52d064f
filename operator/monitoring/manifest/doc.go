// Package manifest says what monitoring systems are given. It is pure: what is done with the objects is for others.
//
//   - Operator: once for all caches, alerts (alerts.yaml), a dashboard (dashboard.json), and how the operator's own metrics are
//     found. Package monitoring puts them into the operator's namespace.
//   - ServiceMonitor: for each cache, how the metrics of its nodes are found. It is part of that cache's plan.
//
// The kinds belong to others: PrometheusRule and ServiceMonitor to the Prometheus Operator, GrafanaDashboard to the Grafana
// Operator. Their Go types are not needed to apply them, so Object does without.
//
// What alerts and dashboard rest on:
//
//   - ServiceMonitor gives all metrics of a node, up included, the label memcached, which is the name of its cache. Alerts
//     ask for it where a memcached of somebody else would show the same metric. The Prometheus Operator adds namespace and pod.
//   - Every replica of the operator counts all objects, so they are put together with max, not with sum.
//   - An alert tells of something that users of a cache feel, or soon will. Each has a page in olm/runbooks.
//   - The rules are those of a Prometheus from 2.42 on, with which they are tested.
package manifest
