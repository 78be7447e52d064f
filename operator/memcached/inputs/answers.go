package inputs

import "github.com/example/memcached-operator/operator/api/cache/v1alpha1"

// ApplicationName is the value of the label app.kubernetes.io/name on everything that belongs to a cache.
const ApplicationName = "memcached"

// StablePods tells whether pods keep their names: a StatefulSet runs them, and the operator changes them in place.
func StablePods(spec v1alpha1.MemcachedSpec) bool {
	return spec.Workload == v1alpha1.WorkloadStatefulSet
}

// NeedsAgent tells whether the agent runs beside memcached.
func NeedsAgent(spec v1alpha1.MemcachedSpec) bool {
	return StablePods(spec) || spec.TLS != nil || spec.Auth != nil || spec.Monitoring != nil
}

// ResizesLive tells whether the memory for items can be changed while memcached runs: not with a warm restart, and not in a
// Deployment, which replaces its pods for every change.
func ResizesLive(spec v1alpha1.MemcachedSpec) bool { return StablePods(spec) && !spec.WarmRestart }
