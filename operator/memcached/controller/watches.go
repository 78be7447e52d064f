package controller

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/watch"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// cacheOfPullPod returns the name of the cache for which a pod pulls images.
func cacheOfPullPod(_ context.Context, object client.Object) []types.NamespacedName {
	name := object.GetLabels()[inputs.CacheLabel]
	if name == "" {
		return nil
	}
	return []types.NamespacedName{{Namespace: object.GetNamespace(), Name: name}}
}

// asked returns how many nodes the cache of a workload has in its spec.
func asked(reader client.Reader) watch.Asked {
	return func(ctx context.Context, workload client.Object) *int32 {
		memcached := &v1alpha1.Memcached{}
		if reader.Get(ctx, client.ObjectKeyFromObject(workload), memcached) != nil {
			return nil // It is gone.
		}
		return &memcached.Spec.Size
	}
}

// SetUp adds the controller to a manager.
func (r *Reconciler) SetUp(mgr manager.Manager) error {
	owner, asked := watch.OwnerByLabel(inputs.ApplicationName), asked(mgr.GetCache())
	err := builder.ControllerManagedBy(mgr).
		Named("memcached").
		WithOptions(watch.Options()).
		Watches(&v1alpha1.Memcached{}, watch.Handler(watch.Self, watch.Owner(r.Reporter.Wrote))).
		Watches(&appsv1.Deployment{}, watch.Handler(owner, watch.Deployment(asked))).
		Watches(&appsv1.StatefulSet{}, watch.Handler(owner, watch.StatefulSet(asked))).
		Watches(&corev1.Service{}, watch.Handler(owner, watch.Child)).
		Watches(&networkingv1.NetworkPolicy{}, watch.Handler(owner, watch.Child)).
		Watches(&policyv1.PodDisruptionBudget{}, watch.Handler(owner, watch.Child)).
		Watches(&corev1.Pod{}, watch.Handler(owner, watch.Pod(watch.Workloads(mgr.GetCache())))).
		Watches(&corev1.Pod{}, watch.Handler(cacheOfPullPod, watch.Now)).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the controller of Memcached: %w", err)
	}
	return nil
}
