package memcached

import (
	"context"
	"fmt"
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/apply"
	desired "github.com/example/memcached-operator/operator/desired/memcached"
	"github.com/example/memcached-operator/operator/desired/meta"
)

// settle is how long news that only concern the status may wait for more of them. While nodes start, every pod brings
// several events, and one status write for all of them is enough. The queue keeps one entry per cache, with the earliest
// of its times, so the status is never further behind than this.
//
// A start seldom takes longer, so that a new cache costs one status on the way and one at the end.
//
// What the user waits for does not wait: a change to the spec, an object that somebody else has changed or deleted, the
// end of a rollout and the loss of a node are looked at immediately.
const settle = 10 * time.Second

// concurrency is how many caches are worked on at the same time. A pass spends its time waiting for the API server.
const concurrency = 8

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// SetUp adds the controller to a manager.
func (r *Reconciler) SetUp(mgr manager.Manager) error {
	err := builder.ControllerManagedBy(mgr).
		Named("memcached").
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrency}).
		Watches(&v1alpha1.Memcached{}, watching(itself, memcachedChange)).
		Watches(&appsv1.Deployment{}, watching(cacheOf, deploymentChange)).
		Watches(&corev1.Pod{}, watching(cacheOf, podChange)).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the controller of Memcached: %w", err)
	}
	return nil
}

// watching returns a handler that enqueues what key names: after the time that delay gives for a change, at once for a
// deletion. before is nil when the object is new.
func watching(key func(client.Object) types.NamespacedName, delay func(before, now client.Object) time.Duration) handler.EventHandler {
	enqueue := func(q queue, object client.Object, after time.Duration) {
		if name := key(object); name.Name != "" {
			q.AddAfter(reconcile.Request{NamespacedName: name}, after)
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) {
			enqueue(q, e.Object, delay(nil, e.Object))
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			after := delay(e.ObjectOld, e.ObjectNew)
			enqueue(q, e.ObjectNew, after)
			if key(e.ObjectOld) != key(e.ObjectNew) {
				enqueue(q, e.ObjectOld, after) // Its labels were changed.
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) {
			enqueue(q, e.Object, delay(e.Object, nil))
		},
	}
}

func itself(object client.Object) types.NamespacedName {
	return client.ObjectKeyFromObject(object)
}

// cacheOf returns the cache that an object belongs to by its labels, an empty name if none. It goes by labels because
// pods are not owned by the cache itself. That labels can be forged does no harm: it costs a pass that changes nothing.
func cacheOf(object client.Object) types.NamespacedName {
	labels := object.GetLabels()
	if labels[meta.LabelName] != desired.ApplicationName {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: labels[meta.LabelInstance]}
}

// memcachedChange: a new spec is urgent. What else can change is the status, mostly by our own hand.
func memcachedChange(before, now client.Object) time.Duration {
	if before == nil || now == nil || before.GetGeneration() != now.GetGeneration() {
		return 0
	}
	return settle
}

// deploymentChange: changes by others are urgent, and so is the end of a rollout. Our own changes are not: the status
// has told of them already.
func deploymentChange(before, now client.Object) time.Duration {
	if now == nil {
		return 0 // Deleted, or our label was taken away.
	}
	if before == nil {
		return settle // Made by us.
	}
	if hash(before) == hash(now) && !sameSpec(before, now) {
		return 0 // Changed by somebody else: we would have left another hash.
	}
	if hash(now) == "" || !maps.Equal(before.GetLabels(), now.GetLabels()) ||
		!equality.Semantic.DeepEqual(before.GetOwnerReferences(), now.GetOwnerReferences()) {
		return 0
	}
	if !settled(before) && settled(now) || lost(before, now) {
		return 0
	}
	return settle
}

// podChange: how many nodes are ready, the Deployment says as well.
func podChange(_, _ client.Object) time.Duration { return settle }

func hash(object client.Object) string { return object.GetAnnotations()[apply.HashAnnotation] }

// sameSpec compares the specs themselves. The generation does not tell: annotations raise it as well, and the Deployment
// controller writes one at the beginning of each rollout.
func sameSpec(before, now client.Object) bool {
	a, okA := before.(*appsv1.Deployment)
	b, okB := now.(*appsv1.Deployment)
	return okA && okB && equality.Semantic.DeepEqual(a.Spec, b.Spec)
}

// lost tells whether a node that is wanted was ready, and is not any more.
func lost(before, now client.Object) bool {
	a, okA := before.(*appsv1.Deployment)
	b, okB := now.(*appsv1.Deployment)
	return okA && okB && b.Status.ReadyReplicas < min(a.Status.ReadyReplicas, wanted(b))
}

func wanted(deployment *appsv1.Deployment) int32 { return ptr.Deref(deployment.Spec.Replicas, 1) }

// settled tells whether a Deployment has nothing left to do.
func settled(object client.Object) bool {
	deployment, ok := object.(*appsv1.Deployment)
	if !ok {
		return false
	}
	wanted, status := wanted(deployment), deployment.Status
	return status.ObservedGeneration >= deployment.Generation &&
		status.Replicas == wanted && status.UpdatedReplicas == wanted && status.ReadyReplicas == wanted
}
