package desired

import (
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"
)

// disruptible is the number of replicas from which one may be evicted while the others serve. With fewer, a budget
// would block the drain of a node.
const disruptible = 2

// disruptionBudget lets one pod be evicted at a time. Pods that are not ready may always be evicted.
func disruptionBudget(in Inputs) *policyv1ac.PodDisruptionBudgetApplyConfiguration {
	application, id := in.Application, Identity(in.Application)
	return policyv1ac.PodDisruptionBudget(application.Name, application.Namespace).
		WithLabels(id.Labels()).
		WithOwnerReferences(owner(in)).
		WithSpec(policyv1ac.PodDisruptionBudgetSpec().
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(id.Selector())).
			WithMaxUnavailable(intstr.FromInt32(1)).
			WithUnhealthyPodEvictionPolicy(policyv1.AlwaysAllow))
}
