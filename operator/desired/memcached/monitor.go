package memcached

import (
	"github.com/example/memcached-operator/operator/monitoring/manifest"
	"github.com/example/memcached-operator/operator/scope"
)

// serviceMonitor tells a Prometheus to scrape the nodes.
func serviceMonitor(in scope.MemcachedInputs) scope.Configuration {
	memcached, id := in.Memcached, Identity(in.Memcached)
	return manifest.ServiceMonitor(manifest.Cache{
		Name: memcached.Name, Namespace: memcached.Namespace, Labels: id.Labels(),
		UserLabels: memcached.Spec.Monitoring.Labels, Selector: id.Selector(), Owner: owner(memcached),
	})
}
