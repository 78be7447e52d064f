package memcached

import (
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/desired/meta"
	"github.com/example/memcached-operator/operator/scope"
)

// ApplicationName is the value of the label app.kubernetes.io/name on everything that belongs to a cache.
const ApplicationName = "memcached"

// Plan returns everything that a cache needs. The Deployment comes first, so that an object of somebody else that bears
// the name of another keeps no node from running; and the binding last, so that it names a Service that exists.
func Plan(in scope.MemcachedInputs) scope.Plan {
	return scope.Plan{
		Present: []scope.Configuration{deployment(in), service(in), binding(in)},
	}
}

// Identity returns what the labels of a cache's objects are made of.
func Identity(memcached *v1alpha1.Memcached) meta.Identity {
	return meta.Identity{Name: ApplicationName, Instance: memcached.Name, Component: "cache"}
}
