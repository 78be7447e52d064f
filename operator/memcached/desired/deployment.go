package desired

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// deployment returns the Deployment of a cache, whose pods have no names of their own.
func deployment(in inputs.Inputs, record inputs.Record) owned.Configuration {
	memcached, id := in.Memcached, Identity(in.Memcached)
	return appsv1ac.Deployment(memcached.Name, memcached.Namespace).
		WithLabels(id.Labels()).
		WithAnnotations(recordName(record)).
		WithOwnerReferences(owner(memcached)).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(memcached.Spec.Size).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(id.Selector())).
			WithStrategy(strategy()).
			WithTemplate(record.Template))
}

// strategy replaces one pod at a time and never has fewer than wanted: a new pod starts empty, so the other pods have to
// carry the load meanwhile.
func strategy() *appsv1ac.DeploymentStrategyApplyConfiguration {
	return appsv1ac.DeploymentStrategy().
		WithType(appsv1.RollingUpdateDeploymentStrategyType).
		WithRollingUpdate(appsv1ac.RollingUpdateDeployment().
			WithMaxSurge(intstr.FromInt32(1)).
			WithMaxUnavailable(intstr.FromInt32(0)))
}
