package memcached

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/apply"
	desired "github.com/example/memcached-operator/operator/desired/memcached"
	"github.com/example/memcached-operator/operator/desired/meta"
	"github.com/example/memcached-operator/operator/metrics"
	"github.com/example/memcached-operator/operator/observe"
	"github.com/example/memcached-operator/operator/outcome"
	"github.com/example/memcached-operator/operator/scope"
	"github.com/example/memcached-operator/operator/status"
)

// Reconciler makes the cluster agree with what each Memcached says.
type Reconciler struct {
	// Client reads from the operator's caches and writes to the API server.
	Client client.Client

	// Applier writes the objects that a cache owns.
	Applier *apply.Applier

	// Recorder emits events.
	Recorder record.EventRecorder

	// Metrics counts outcomes.
	Metrics *metrics.Metrics

	// Clock dates conditions.
	Clock clock.PassiveClock

	// Image is the memcached image that caches run.
	Image string
}

// Reconcile takes one Memcached through the stages. A stage that fails does not keep the status from saying so.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	memcached := &v1alpha1.Memcached{}
	if err := r.Client.Get(ctx, request.NamespacedName, memcached); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !memcached.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil // The garbage collector deletes what a cache owns.
	}
	id := desired.Identity(memcached)

	plan := desired.Plan(scope.MemcachedInputs{Memcached: memcached, Image: r.Image})
	applied, err := r.Applier.Apply(ctx, memcached, plan)
	observed, observeErr := observe.Children(ctx, r.Client, memcached, id, applied.Objects)
	err = errors.Join(err, observeErr)

	if !outcome.IsStale(err) {
		next := status.Memcached(status.Input{
			Memcached: memcached, Observed: observed, Selector: id.SelectorString(), Err: err, Now: metav1.NewTime(r.Clock.Now()),
		})
		if writeErr := r.writeStatus(ctx, memcached, next); writeErr != nil {
			err = writeErr
		} else {
			r.announce(ctx, memcached, next, applied.Changes)
		}
	}
	r.Metrics.Reconciled(v1alpha1.MemcachedKind, err)
	return outcome.Resolve(err)
}

// writeStatus writes the status if it has changed. It is sent as a patch, so that fields which a newer version of the
// operator knows are kept, and with the resourceVersion, so that a status computed from an old copy of the object is
// refused instead of making the status jump back.
func (r *Reconciler) writeStatus(ctx context.Context, memcached *v1alpha1.Memcached, next v1alpha1.MemcachedStatus) error {
	if equality.Semantic.DeepEqual(memcached.Status, next) {
		return nil
	}
	changed := memcached.DeepCopy()
	changed.Status = next
	patch := client.MergeFromWithOptions(memcached, client.MergeFromWithOptimisticLock{})
	err := r.Client.Status().Patch(ctx, changed, patch, client.FieldOwner(meta.Manager))
	switch {
	case apierrors.IsNotFound(err):
		return nil // Deleted meanwhile.
	case apierrors.IsConflict(err):
		return outcome.Stale(fmt.Errorf("write the status: %w", err))
	case err != nil:
		return fmt.Errorf("write the status: %w", err)
	}
	return nil
}
