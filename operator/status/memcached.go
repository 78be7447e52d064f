package status

import (
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	desired "github.com/example/memcached-operator/operator/desired/memcached"
	"github.com/example/memcached-operator/operator/scope"
)

// ofMemcached is how a cache speaks of its pods.
var ofMemcached = vocabulary{
	one: "node", many: "nodes", process: "memcached",

	allReady:      v1alpha1.ReasonAllNodesReady,
	scaledToZero:  v1alpha1.ReasonScaledToZero,
	someReady:     v1alpha1.ReasonSomeNodesReady,
	noneReady:     v1alpha1.ReasonNoNodeReady,
	starting:      v1alpha1.ReasonNodesStarting,
	updating:      v1alpha1.ReasonNodesUpdating,
	stopping:      v1alpha1.ReasonNodesStopping,
	failing:       v1alpha1.ReasonNodesFailing,
	unschedulable: v1alpha1.ReasonNodesUnschedulable,
	refused:       v1alpha1.ReasonNodesRefused,
}

// Memcached computes the status of a cache. Its old status serves only to keep the time of a condition's last
// transition, conditions that others have added, and what an agent that does not answer has said of a start.
func Memcached(in scope.MemcachedInputs, plan desired.Plan, seen Nodes, pass Pass) v1alpha1.MemcachedStatus {
	memcached := in.Memcached
	next := *memcached.Status.DeepCopy()
	if pass.Err == nil {
		next.ObservedGeneration = memcached.Generation
	}
	nodes := workload{
		Pass: pass, vocabulary: ofMemcached, wanted: memcached.Spec.Size, generation: memcached.Generation,
		steps: seen.Progress, checks: []check{updateStuck},
	}
	next.Binding = nil
	if name := desired.BindingName(memcached.Name); pass.Observed.Has("Secret", name) {
		next.Binding = &v1alpha1.MemcachedBinding{Name: name}
	}
	next.Selector = pass.Selector
	next.Nodes = podNames(pass.Observed.Pods)
	next.Replicas, next.ReadyReplicas = nodes.replicas(), nodes.readyPods()
	next.Endpoints = endpoints(in, seen, pass)
	next.Pending = plan.Pending
	nodes.conditions(&next.Conditions)
	nodes.set(&next.Conditions, updatePending(memcached, plan.Pending))
	return next
}
