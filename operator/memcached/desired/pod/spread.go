package pod

import (
	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/owned"
)

// spread returns how pods are spread over nodes and zones. Losing one node should lose few pods; but unless the user insists,
// a cluster with a single node still runs them all.
func spread(s settings) []*corev1ac.TopologySpreadConstraintApplyConfiguration {
	const prefer, require = corev1.ScheduleAnyway, corev1.DoNotSchedule
	asked := s.Spec.TopologySpread
	if asked == nil {
		asked = &v1alpha1.MemcachedTopologySpread{Preset: v1alpha1.TopologyPreferHosts}
	}
	switch asked.Preset {
	case v1alpha1.TopologyNone:
		return nil
	case v1alpha1.TopologyPreferHosts:
		return []*constraint{over(s, corev1.LabelHostname, prefer)}
	case v1alpha1.TopologyRequireHosts:
		return []*constraint{over(s, corev1.LabelHostname, require)}
	case v1alpha1.TopologyPreferZones:
		return []*constraint{over(s, corev1.LabelTopologyZone, prefer), over(s, corev1.LabelHostname, prefer)}
	case v1alpha1.TopologyRequireZones:
		return []*constraint{over(s, corev1.LabelTopologyZone, require), over(s, corev1.LabelHostname, prefer)}
	}
	return own(s, asked.Constraints)
}

type constraint = corev1ac.TopologySpreadConstraintApplyConfiguration

func over(s settings, key string, unsatisfiable corev1.UnsatisfiableConstraintAction) *constraint {
	return corev1ac.TopologySpreadConstraint().
		WithMaxSkew(1).
		WithTopologyKey(key).
		WithWhenUnsatisfiable(unsatisfiable).
		WithLabelSelector(ownPods(s))
}

// own returns the constraints that the user wrote.
func own(s settings, constraints []corev1.TopologySpreadConstraint) []*constraint {
	var own []*constraint
	for i := range constraints {
		configuration := owned.Convert[constraint](constraints[i])
		if constraints[i].LabelSelector == nil {
			configuration.WithLabelSelector(ownPods(s))
		}
		own = append(own, configuration)
	}
	return own
}

func ownPods(s settings) *metav1ac.LabelSelectorApplyConfiguration {
	return metav1ac.LabelSelector().WithMatchLabels(s.Identity.Selector())
}
