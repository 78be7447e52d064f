package pod

import (
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/memcached/args"
	"github.com/example/memcached-operator/operator/memcached/desired/sizing"
)

// Given is the template that pods have, and the spec that it was made for.
type Given struct {
	Spec     v1alpha1.MemcachedSpec
	Template *corev1ac.PodTemplateSpecApplyConfiguration
}

// sizingRequest returns what the size of a cache is computed from. Pods keep the memory for items that they have unless the user lowers the
// memory limit or changes what else it is computed from: a version of the operator that reserves more for the rest evicts none of their items.
func sizingRequest(r Request) sizing.Request {
	request := sizingRequestOf(r.Spec)
	if r.Given == nil {
		return request
	}
	given := sizingRequestOf(r.Given.Spec)
	if given.MemoryLimit > request.MemoryLimit {
		return request
	}
	if given.MemoryLimit = request.MemoryLimit; given == request {
		request.Given = CacheMemory(r.Given.Template)
	}
	return request
}

func sizingRequestOf(spec v1alpha1.MemcachedSpec) sizing.Request {
	limits := resourcesOf(spec.Resources, spec.TLS != nil).limits
	return sizing.Request{
		MemoryLimit:    limits.Memory().Value(),
		CacheMemory:    bytes(spec.CacheMemory),
		MaxConnections: ptr.Deref(spec.MaxConnections, 0),
		MaxItemSize:    bytes(spec.MaxItemSize),
		Threads:        ptr.Deref(spec.Threads, 0),
		WarmRestart:    spec.WarmRestart,
		TLS:            spec.TLS != nil,
	}
}

// CacheMemory returns the memory for items of pods with a template, in MiB; 0 if the template does not say it.
func CacheMemory(template *corev1ac.PodTemplateSpecApplyConfiguration) int64 {
	if template.Spec == nil {
		return 0
	}
	for _, container := range template.Spec.Containers {
		if ptr.Deref(container.Name, "") != MemcachedContainer {
			continue
		}
		if arguments, err := args.Parse(container.Args); err == nil {
			return arguments.CacheMemory
		}
	}
	return 0
}
