// Package prometheus runs a real Prometheus on this machine, configured from PrometheusRules and ServiceMonitors.
//
// It does what the Prometheus Operator does with these objects, as far as those of this project need it: rules become a file
// of rules, and an endpoint of a ServiceMonitor becomes a job with a target for each pod. A target gets the labels namespace
// and pod, and those of the relabelings.
package prometheus
