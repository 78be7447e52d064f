package desired

import (
	appsv1 "k8s.io/api/apps/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/update/pending"
)

// statefulSet returns the StatefulSet of a cache, whose pods have stable names. Kubernetes creates and removes pods, all at a
// time because they do not depend on each other. It leaves running pods alone when the template changes, because it does not
// know what can be changed in place without losing items: package rollout does.
func statefulSet(in inputs.Inputs, record inputs.Record) owned.Configuration {
	memcached, id, template := in.Memcached, Identity(in.Memcached), record.Template
	if name := recordName(record); name != nil {
		// The revision that the StatefulSet controller makes of the template names the record as well.
		template = owned.Convert[pending.Template](template).WithAnnotations(name)
	}
	return appsv1ac.StatefulSet(memcached.Name, memcached.Namespace).
		WithLabels(id.Labels()).
		WithAnnotations(recordName(record)).
		WithOwnerReferences(owner(memcached)).
		WithSpec(appsv1ac.StatefulSetSpec().
			WithReplicas(memcached.Spec.Size).
			WithServiceName(ServiceName(memcached.Name)).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(id.Selector())).
			WithPodManagementPolicy(appsv1.ParallelPodManagement).
			WithUpdateStrategy(appsv1ac.StatefulSetUpdateStrategy().WithType(appsv1.OnDeleteStatefulSetStrategyType)).
			WithTemplate(template))
}
