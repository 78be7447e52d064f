package status

import (
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/conditions"
	"github.com/example/memcached-operator/operator/memcached/desired"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// ofMemcached is how a cache speaks of its pods.
var ofMemcached = conditions.Wording{
	One: "pod", Many: "pods", Process: "memcached",

	AllReady:      v1alpha1.ReasonAllNodesReady,
	ScaledToZero:  v1alpha1.ReasonScaledToZero,
	SomeReady:     v1alpha1.ReasonSomeNodesReady,
	NoneReady:     v1alpha1.ReasonNoNodeReady,
	Starting:      v1alpha1.ReasonNodesStarting,
	Updating:      v1alpha1.ReasonNodesUpdating,
	Stopping:      v1alpha1.ReasonNodesStopping,
	Failing:       v1alpha1.ReasonNodesFailing,
	Unschedulable: v1alpha1.ReasonNodesUnschedulable,
	Refused:       v1alpha1.ReasonNodesRefused,
}

// Memcached computes the status of a cache. Its old status serves only to keep the time of a condition's last
// transition, conditions that others have added, and what an agent that does not answer has said of a start.
func Memcached(in inputs.Inputs, plan desired.Plan, seen Runtime, pass conditions.Reconcile) v1alpha1.MemcachedStatus {
	memcached := in.Memcached
	next := *memcached.Status.DeepCopy()
	if pass.Err == nil {
		next.ObservedGeneration = memcached.Generation
	}
	nodes := conditions.Workload{
		Reconcile: pass, Wording: ofMemcached, Wanted: memcached.Spec.Size, Generation: memcached.Generation,
		Update: seen.Progress, Checks: []conditions.Check{updateStuck},
	}
	next.Binding = nil
	if name := desired.BindingName(memcached.Name); pass.Observed.Has("Secret", name) {
		next.Binding = &v1alpha1.MemcachedBinding{Name: name}
	}
	next.Selector = pass.Selector
	next.Nodes = conditions.PodNames(pass.Observed.Pods)
	next.Replicas, next.ReadyReplicas = nodes.Replicas(), nodes.ReadyPods()
	next.Endpoints = endpoints(in, seen, pass)
	next.Pending = plan.Pending
	nodes.SetAll(&next.Conditions)
	nodes.Set(&next.Conditions, updatePending(memcached, plan.Pending))
	return next
}
