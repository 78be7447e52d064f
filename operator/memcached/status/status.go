// Package status computes the status of a cache from observed objects: its conditions, endpoints and pending change. It is pure.
// What every kind reports about its pods is in package conditions.
package status

import (
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/conditions"
	"github.com/example/memcached-operator/operator/memcached/desired"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// ofMemcached are the words and reasons for the pods of a cache.
var ofMemcached = conditions.Wording{
	Process: "memcached",

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

// Memcached computes the status of a cache. From the old status it takes only the transition times of conditions, the conditions
// that others have added, and what an agent that cannot be reached now reported earlier about the same start of memcached.
func Memcached(in inputs.Inputs, plan desired.Plan, seen Runtime, reconcile conditions.Reconcile) v1alpha1.MemcachedStatus {
	memcached := in.Memcached
	next := *memcached.Status.DeepCopy()
	if reconcile.Err == nil {
		next.ObservedGeneration = memcached.Generation
	}
	workload := conditions.Workload{
		Reconcile: reconcile, Wording: ofMemcached, Wanted: memcached.Spec.Size, Generation: memcached.Generation,
		Update: progress(plan.Pull, seen.Progress), Checks: []conditions.Check{updateStuck},
	}
	next.Binding = nil
	if name := desired.BindingName(memcached.Name); reconcile.Observed.Has("Secret", name) {
		next.Binding = &v1alpha1.MemcachedBinding{Name: name}
	}
	next.Selector = reconcile.Selector
	next.Nodes = conditions.PodNames(reconcile.Observed.Pods)
	next.Replicas, next.ReadyReplicas = workload.Replicas(), workload.ReadyPods()
	next.Endpoints = endpoints(in, seen, reconcile)
	next.Pending = plan.Pending
	workload.SetAll(&next.Conditions)
	workload.Set(&next.Conditions, updatePending(memcached, plan))
	return next
}
