// Package metrics holds all metrics of our own. Those about reconciling, queues and API calls come from
// controller-runtime.
package metrics
