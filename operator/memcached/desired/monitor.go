package desired

import (
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/monitoring/manifest"
)

// serviceMonitor tells a Prometheus to scrape the pods.
func serviceMonitor(in inputs.Inputs) owned.Configuration {
	memcached, id := in.Memcached, Identity(in.Memcached)
	return manifest.ServiceMonitor(manifest.Cache{
		Name: memcached.Name, Namespace: memcached.Namespace, Labels: id.Labels(),
		UserLabels: memcached.Spec.Monitoring.Labels, Selector: id.Selector(), Owner: owner(memcached), Limits: in.Features.ScrapeLimits,
	})
}
