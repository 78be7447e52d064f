// Package watch maps a changed object to the custom resources to reconcile, and decides how soon. The list of watched
// kinds is in each controller.
package watch

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/example/memcached-operator/operator/kube/owned"
)

const (
	// Concurrency is the number of objects of a kind that are reconciled at the same time. A reconcile spends most of its
	// time waiting for the API server.
	Concurrency = 8

	// shortestRetry and longestRetry limit the exponential backoff of a reconcile that failed. The default of
	// controller-runtime goes up to 16 minutes, for which nobody waits who has repaired a webhook.
	shortestRetry = 5 * time.Millisecond
	longestRetry  = time.Minute
)

// Options returns the options of the controllers of both kinds.
func Options() controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: Concurrency,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](shortestRetry, longestRetry),
	}
}

// MapFunc returns the names of the objects to reconcile when the given object changes. ctx ends when the operator stops: a read of a cache
// that is still filled waits for that long.
type MapFunc func(ctx context.Context, object client.Object) []types.NamespacedName

// Delay returns how long a change may wait, Never if it concerns nobody. before is nil for a new object, now for a deleted one. ctx is that of
// a MapFunc.
type Delay func(ctx context.Context, before, now client.Object) time.Duration

// Never is the Delay of a change that concerns nobody.
const Never time.Duration = -1

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Handler returns a handler that enqueues the objects that concerned returns for the new and the old version of a
// changed object.
func Handler(concerned MapFunc, delay Delay) handler.EventHandler {
	enqueue := func(q queue, names []types.NamespacedName, after time.Duration) {
		if after == Never {
			return
		}
		for _, name := range names {
			q.AddAfter(reconcile.Request{NamespacedName: name}, after)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			enqueue(q, concerned(ctx, e.Object), delay(ctx, nil, e.Object))
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			after := delay(ctx, e.ObjectOld, e.ObjectNew)
			enqueue(q, concerned(ctx, e.ObjectNew), after)
			enqueue(q, concerned(ctx, e.ObjectOld), after) // The queue removes duplicates.
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			enqueue(q, concerned(ctx, e.Object), delay(ctx, e.Object, nil))
		},
	}
}

// Self returns the name of the changed object.
func Self(_ context.Context, object client.Object) []types.NamespacedName {
	return []types.NamespacedName{client.ObjectKeyFromObject(object)}
}

// OwnerByLabel returns a function that returns the owner of an object by its labels, if the label
// app.kubernetes.io/name has the given value. Labels are used because the custom resource does not own pods directly. A
// forged label only costs a reconcile that changes nothing.
func OwnerByLabel(application string) MapFunc {
	return func(_ context.Context, object client.Object) []types.NamespacedName {
		labels := object.GetLabels()
		if labels[owned.LabelName] != application || labels[owned.LabelInstance] == "" {
			return nil
		}
		return []types.NamespacedName{{Namespace: object.GetNamespace(), Name: labels[owned.LabelInstance]}}
	}
}
