package memcached

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/apply"
	"github.com/example/memcached-operator/operator/controller/report"
	desired "github.com/example/memcached-operator/operator/desired/memcached"
	"github.com/example/memcached-operator/operator/metrics"
	"github.com/example/memcached-operator/operator/observe"
	"github.com/example/memcached-operator/operator/operatorcondition"
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

	// Reporter writes the status, and tells of what has happened.
	Reporter *report.Reporter

	// Metrics counts outcomes.
	Metrics *metrics.Metrics

	// Work remembers what an upgrade of the operator should wait for.
	Work *operatorcondition.Tracker

	// Clock dates conditions.
	Clock clock.PassiveClock

	// Image is the memcached image that caches run.
	Image string
}

// Reconcile takes one Memcached through the stages. A stage that fails does not keep the status from saying so.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	memcached := &v1alpha1.Memcached{}
	err := r.Client.Get(ctx, request.NamespacedName, memcached)
	if apierrors.IsNotFound(err) || err == nil && !memcached.DeletionTimestamp.IsZero() {
		r.Work.End(operatorcondition.ObjectOf(v1alpha1.MemcachedKind, request.NamespacedName))
		return reconcile.Result{}, nil // The garbage collector deletes what a cache owns.
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	in, id := scope.MemcachedInputs{Memcached: memcached, Image: r.Image}, desired.Identity(memcached)
	plan := desired.Plan(in)
	applied, err := r.Applier.Apply(ctx, memcached, plan)
	observed, observeErr := observe.Children(ctx, r.Client, memcached, id, plan, applied.Objects)
	err = errors.Join(err, observeErr)

	next := memcached.DeepCopy()
	if !outcome.IsStale(err) {
		next.Status = status.Memcached(in, status.Pass{
			Observed: observed, Selector: id.SelectorString(), Err: err, Now: metav1.NewTime(r.Clock.Now()),
		})
		if reportErr := r.Reporter.Report(ctx, memcached, next, applied.Changes); reportErr != nil {
			err = reportErr
		}
	}
	r.Work.Passed(operatorcondition.Pass{
		Object:      operatorcondition.ObjectOf(v1alpha1.MemcachedKind, request.NamespacedName),
		CarriedOver: memcached.Status.ObservedGeneration == memcached.Generation,
		Changes:     applied.Changes, Deployment: observed.Deployment,
		Degraded: meta.IsStatusConditionTrue(next.Status.Conditions, v1alpha1.ConditionDegraded), Err: err,
	})
	if ctx.Err() != nil {
		return reconcile.Result{}, nil // The operator stops. Who runs next begins this pass anew, so it has not failed.
	}
	r.Metrics.Reconciled(v1alpha1.MemcachedKind, err)
	return outcome.Resolve(err)
}
