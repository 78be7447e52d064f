package controller

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/application/desired"
	"github.com/example/memcached-operator/operator/application/status"
	"github.com/example/memcached-operator/operator/kube/apply"
	"github.com/example/memcached-operator/operator/kube/children"
	"github.com/example/memcached-operator/operator/kube/conditions"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
	"github.com/example/memcached-operator/operator/kube/report"
	"github.com/example/memcached-operator/operator/metrics"
	"github.com/example/memcached-operator/operator/olmcondition"
)

// Reconciler makes the cluster agree with what each Application says.
type Reconciler struct {
	// Client reads from the operator's caches and writes to the API server.
	Client client.Client

	// Applier writes the objects that an Application owns.
	Applier *apply.Applier

	// Reporter writes the status, and tells of what has happened.
	Reporter *report.Reporter

	// Metrics counts outcomes.
	Metrics *metrics.Metrics

	// Work remembers what an upgrade of the operator should wait for.
	Work *olmcondition.Tracker

	// Clock dates conditions.
	Clock clock.PassiveClock
}

// Reconcile takes one Application through the stages. A stage that fails does not keep the status from saying so.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	application := &v1alpha1.Application{}
	err := r.Client.Get(ctx, request.NamespacedName, application)
	if apierrors.IsNotFound(err) || err == nil && !application.DeletionTimestamp.IsZero() {
		r.Work.End(olmcondition.ObjectOf(v1alpha1.ApplicationKind, request.NamespacedName))
		r.Reporter.Forget(application, request.NamespacedName)
		return reconcile.Result{}, nil // The garbage collector deletes what an Application owns.
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	if r.Reporter.IsStale(application) {
		return reconcileerror.Resolve(reconcileerror.Stale(errors.New("the cached copy is older than the status that was written last")))
	}
	in, err := ApplicationInputs(ctx, r.Client, application)
	if err != nil {
		return reconcile.Result{}, err // Without them, nothing that a status could say would be true.
	}
	plan, id := desired.Plan(in), desired.Identity(application)
	applied, err := r.Applier.Apply(ctx, application, plan)
	observed, observeErr := children.Read(ctx, r.Client, application, id, plan, applied.Objects)
	err = errors.Join(err, observeErr)

	r.Reporter.Announce(ctx, application, report.Actions{Changes: applied.Changes})
	next := application.DeepCopy()
	if !reconcileerror.IsStale(err) {
		next.Status = status.Application(in, conditions.Reconcile{
			Observed: observed, Selector: id.SelectorString(), Err: err, Now: metav1.NewTime(r.Clock.Now()),
		})
		if reportErr := r.Reporter.Report(ctx, application, next); reportErr != nil {
			err = reportErr
		}
	}
	r.Work.Reconciled(olmcondition.Reconcile{
		Object:      olmcondition.ObjectOf(v1alpha1.ApplicationKind, request.NamespacedName),
		SpecApplied: application.Status.ObservedGeneration == application.Generation,
		Changes:     applied.Changes, Rollout: observed.Workload(),
		Degraded: meta.IsStatusConditionTrue(next.Status.Conditions, v1alpha1.ConditionDegraded), Err: err,
	})
	if ctx.Err() != nil {
		return reconcile.Result{}, nil // The operator stops. Who runs next begins this pass anew, so it has not failed.
	}
	r.Metrics.Reconciled(v1alpha1.ApplicationKind, err)
	return reconcileerror.Resolve(err)
}
