package desired

import (
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"
	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// disruptible tells whether a budget makes sense: with a single pod, it would keep a node from ever being drained.
func disruptible(spec v1alpha1.MemcachedSpec) bool { return spec.Disruption != nil && spec.Size >= 2 }

// disruptionBudget limits how many pods are evicted at a time. Pods that are not ready may always be evicted.
func disruptionBudget(in inputs.Inputs) *policyv1ac.PodDisruptionBudgetApplyConfiguration {
	memcached, id := in.Memcached, Identity(in.Memcached)
	return policyv1ac.PodDisruptionBudget(memcached.Name, memcached.Namespace).
		WithLabels(id.Labels()).
		WithOwnerReferences(owner(memcached)).
		WithSpec(policyv1ac.PodDisruptionBudgetSpec().
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(id.Selector())).
			WithMaxUnavailable(ptr.Deref(memcached.Spec.Disruption.MaxUnavailable, intstr.FromInt32(1))).
			WithUnhealthyPodEvictionPolicy(policyv1.AlwaysAllow))
}
