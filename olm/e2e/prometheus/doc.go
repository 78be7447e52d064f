// Package prometheus runs a real Prometheus on this machine, with what PrometheusRules and ServiceMonitors say.
//
// It does what the Prometheus Operator does with these objects, as far as ours need it: rules become a file of rules, an
// endpoint of a ServiceMonitor becomes a job with a target for each node, which gets the labels namespace and pod and those
// of the relabelings.
package prometheus
