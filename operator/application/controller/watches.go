package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/example/memcached-operator/operator/api/app/v1alpha1"
	cachev1alpha1 "github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/application/desired"
	"github.com/example/memcached-operator/operator/kube/watch"
)

// asked returns how many pods the Application of a Deployment has in its spec.
func asked(reader client.Reader) watch.Asked {
	return func(ctx context.Context, deployment client.Object) *int32 {
		application := &v1alpha1.Application{}
		if reader.Get(ctx, client.ObjectKeyFromObject(deployment), application) != nil {
			return nil // It is gone.
		}
		return application.Spec.Replicas
	}
}

// SetUp adds the controller to a manager.
func (r *Reconciler) SetUp(mgr manager.Manager) error {
	//nolint:forbidigo // There is no context yet, and nothing to wait for: the cache has not been started.
	if err := IndexApplications(context.Background(), mgr.GetFieldIndexer()); err != nil {
		return fmt.Errorf("set up the controller of Application: %w", err)
	}
	owner := watch.OwnerByLabel(desired.ApplicationName)
	err := builder.ControllerManagedBy(mgr).
		Named("application").
		WithOptions(watch.Options()).
		Watches(&v1alpha1.Application{}, watch.Handler(watch.Self, watch.Owner(r.Reporter.Wrote))).
		Watches(&v1alpha1.Application{}, watch.Handler(rivals(mgr.GetCache()), hostChange)).
		Watches(&cachev1alpha1.Memcached{}, watch.Handler(users(mgr.GetCache()), cacheChange)).
		Watches(&appsv1.Deployment{}, watch.Handler(owner, watch.Deployment(asked(mgr.GetCache())))).
		Watches(&corev1.Service{}, watch.Handler(owner, watch.Child)).
		Watches(&networkingv1.Ingress{}, watch.Handler(owner, watch.Child)).
		Watches(&policyv1.PodDisruptionBudget{}, watch.Handler(owner, watch.Child)).
		Watches(&corev1.Pod{}, watch.Handler(owner, watch.Pod(watch.Workloads(mgr.GetCache())))).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the controller of Application: %w", err)
	}
	return nil
}

// rivals returns the Applications whose host is in conflict with that of the changed one: one of them may get it.
func rivals(reader client.Reader) watch.MapFunc {
	return func(ctx context.Context, object client.Object) []types.NamespacedName {
		application, ok := object.(*v1alpha1.Application)
		if !ok {
			return nil
		}
		var names []types.NamespacedName
		for _, address := range addresses(application) {
			names = append(names, namesOf(inConflict(ctx, reader, application, address))...)
		}
		return names
	}
}

// users returns the Applications that list the changed cache.
func users(reader client.Reader) watch.MapFunc {
	return func(ctx context.Context, object client.Object) []types.NamespacedName {
		return namesOf(UsersOf(ctx, reader, object))
	}
}

// namesOf returns the names of Applications. A read from the cache fails only while the operator stops.
func namesOf(applications []v1alpha1.Application, err error) []types.NamespacedName {
	if err != nil {
		log.Log.Info("Cannot list the Applications that a change concerns", "reason", err.Error())
		return nil
	}
	var names []types.NamespacedName
	for i := range applications {
		names = append(names, client.ObjectKeyFromObject(&applications[i]))
	}
	return names
}

// hostChange is the Delay of Applications for their rivals: what an Application wants and what it has claimed are urgent.
func hostChange(_ context.Context, before, now client.Object) time.Duration {
	a, okA := before.(*v1alpha1.Application)
	b, okB := now.(*v1alpha1.Application)
	if !okA || !okB || !slices.Equal(addresses(a), addresses(b)) {
		return 0
	}
	return watch.StatusDelay
}

// cacheChange is the Delay of Memcacheds: deletion and a new binding are urgent. A new Memcached usually publishes its
// binding at once, and there is nothing to report before.
func cacheChange(_ context.Context, before, now client.Object) time.Duration {
	if now == nil {
		return 0
	}
	a, okA := before.(*cachev1alpha1.Memcached)
	b, okB := now.(*cachev1alpha1.Memcached)
	if okA && okB && !equality.Semantic.DeepEqual(a.Status.Binding, b.Status.Binding) {
		return 0
	}
	return watch.StatusDelay
}
