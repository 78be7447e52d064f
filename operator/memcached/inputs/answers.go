package inputs

import "github.com/example/memcached-operator/operator/api/cache/v1alpha1"

// NeedsAgent tells whether the agent runs beside memcached.
func NeedsAgent(spec v1alpha1.MemcachedSpec) bool {
	return spec.Workload == v1alpha1.WorkloadStatefulSet || spec.TLS != nil || spec.Auth != nil || spec.Monitoring != nil
}
