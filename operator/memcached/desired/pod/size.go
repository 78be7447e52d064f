package pod

import (
	"slices"

	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/memcached/args"
	"github.com/example/memcached-operator/operator/memcached/desired/sizing"
)

// sizingRequest returns what the size of a cache is computed from. Pods keep the memory for items that they have as long as they have no
// higher memory limit than is wanted, and all else that the size is computed from stays: a version of the operator that reserves more for
// the rest evicts none of their items.
func sizingRequest(r Request) sizing.Request {
	request := sizingRequestOf(r.Spec)
	if r.Given == nil || r.Given.Spec == nil {
		return request
	}
	for _, container := range r.Given.Spec.Containers {
		if ptr.Deref(container.Name, "") != MemcachedContainer || container.Resources == nil {
			continue
		}
		limits := ptr.Deref(container.Resources.Limits, nil)
		options, _ := args.Options(container.Args)
		stated := slices.ContainsFunc(options, func(o args.Option) bool { return o.Name == "-m" })
		given, err := args.Parse(container.Args)
		if limit := limits.Memory().Value(); err == nil && stated && limit > 0 && limit <= request.MemoryLimit && request.SameBut(sizing.Request{
			MaxConnections: given.MaxConnections, MaxItemSize: given.MaxItemSize, Threads: given.Threads, WarmRestart: given.MemoryFile != "", TLS: given.TLS,
		}) {
			request.Given = given.CacheMemory
		}
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
