//go:build faults

package faults_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// panicked returns how many reconciles of all scenes have panicked so far.
func panicked(t *testing.T) float64 {
	t.Helper()
	return total(t, metrics.Registry, "controller_runtime_reconcile_panics_total")
}

// reconciles returns how often the processes of a scene have reconciled an object so far.
func (s *scene) reconciles() (sum float64) {
	s.Helper()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, process := range s.processes {
		sum += total(s.T, process.metrics, "memcached_operator_reconcile_outcomes_total")
	}
	return sum
}

// total returns the sum of a counter over all its labels.
func total(t *testing.T, from prometheus.Gatherer, name string) (sum float64) {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			for _, metric := range family.GetMetric() {
				sum += metric.GetCounter().GetValue()
			}
		}
	}
	return sum
}
