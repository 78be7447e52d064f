package observe

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/desired/meta"
)

// Caches limits what is held in memory to objects of ours, whatever else the cluster runs. managedFields are left out:
// they are as large as the objects themselves, and only ever needed of an object that was read live.
func Caches() cache.Options {
	ours := cache.ByObject{Label: meta.ManagedSelector()}
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&appsv1.Deployment{}:            ours,
			&corev1.Pod{}:                   ours,
			&corev1.Secret{}:                ours,
			&corev1.Service{}:               ours,
			&networkingv1.Ingress{}:         ours,
			&policyv1.PodDisruptionBudget{}: ours,
		},
	}
}
