// Package kubelet stands in for Kubernetes' controllers of Deployments and StatefulSets, its scheduler and its kubelets: all that the
// operator manages is rolled out as fast as it can be written. It makes the pods, because a cache counts as ready only when its pods are
// listed. The bare client needs it as much as the operator does, so that its cost is in the figures of both.
package kubelet

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// concurrency is the number of workloads, and of pods, that are handled at the same time.
	concurrency = 8

	// nodeName is the name of the one node, which does not exist: nobody asks for it.
	nodeName = "node"

	managedBy, instance, manages = "app.kubernetes.io/managed-by", "app.kubernetes.io/instance", "memcached-operator"

	// byWorkload is the index of pods by the name of their Deployment or StatefulSet.
	byWorkload = "workload"
)

// Selector selects the objects of the operator.
var Selector = labels.SelectorFromSet(labels.Set{managedBy: manages})

// New returns a manager with both controllers. Its cache also serves others that want to watch custom resources.
func New(config *rest.Config, scheme *runtime.Scheme) (manager.Manager, error) {
	ours := cache.ByObject{Label: Selector}
	mgr, err := manager.New(config, manager.Options{
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"},
		Cache: cache.Options{
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject:         map[client.Object]cache.ByObject{&appsv1.Deployment{}: ours, &appsv1.StatefulSet{}: ours, &corev1.Pod{}: ours},
		},
	})
	if err != nil {
		return nil, err
	}
	err = mgr.GetFieldIndexer().IndexField(context.Background(), &corev1.Pod{}, byWorkload, func(object client.Object) []string {
		return []string{object.GetLabels()[instance]}
	})
	if err != nil {
		return nil, err
	}
	return mgr, addControllers(mgr)
}

func addControllers(mgr manager.Manager) error {
	options := controller.Options{MaxConcurrentReconciles: concurrency}
	rollouts := &rollouts{mgr.GetClient()}
	owner := func(kind string) handler.EventHandler {
		return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, pod client.Object) []reconcile.Request {
			if by := metav1.GetControllerOf(pod); by == nil || by.Kind != kind {
				return nil
			}
			return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: pod.GetNamespace(), Name: pod.GetLabels()[instance]}}}
		})
	}
	err := ctrl.NewControllerManagedBy(mgr).Named("deployments").For(&appsv1.Deployment{}).Watches(&corev1.Pod{}, owner("ReplicaSet")).
		WithOptions(options).Complete(reconcile.AsReconciler[*appsv1.Deployment](mgr.GetClient(), deployments{rollouts}))
	if err != nil {
		return fmt.Errorf("add the controller of Deployments: %w", err)
	}
	err = ctrl.NewControllerManagedBy(mgr).Named("statefulsets").For(&appsv1.StatefulSet{}).Watches(&corev1.Pod{}, owner("StatefulSet")).
		WithOptions(options).Complete(reconcile.AsReconciler[*appsv1.StatefulSet](mgr.GetClient(), statefulSets{rollouts}))
	if err != nil {
		return fmt.Errorf("add the controller of StatefulSets: %w", err)
	}
	err = ctrl.NewControllerManagedBy(mgr).Named("pods").For(&corev1.Pod{}).WithOptions(options).
		Complete(reconcile.AsReconciler[*corev1.Pod](mgr.GetClient(), pods{mgr.GetClient()}))
	if err != nil {
		return fmt.Errorf("add the kubelet: %w", err)
	}
	return nil
}
