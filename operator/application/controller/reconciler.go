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

// Reconciler reconciles Applications.
type Reconciler struct {
	// Client reads from the cache and writes to the API server.
	Client client.Client

	// Applier writes the objects that an Application owns.
	Applier *apply.Applier

	// Reporter writes the status, log and events.
	Reporter *report.Reporter

	// Metrics counts reconciles by result.
	Metrics *metrics.Metrics

	// Work tracks rollouts that an upgrade of the operator should wait for.
	Work *olmcondition.Tracker

	// Clock provides the transition times of conditions.
	Clock clock.PassiveClock
}

// Reconcile makes the cluster match one Application. The status is written even if an earlier stage fails.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	application := &v1alpha1.Application{}
	err := r.Client.Get(ctx, request.NamespacedName, application)
	if apierrors.IsNotFound(err) || err == nil && !application.DeletionTimestamp.IsZero() {
		r.Work.End(olmcondition.Object{Kind: v1alpha1.ApplicationKind, NamespacedName: request.NamespacedName})
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
		return reconcile.Result{}, err // Without inputs, a status would be wrong.
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
		Object:      olmcondition.Object{Kind: v1alpha1.ApplicationKind, NamespacedName: request.NamespacedName},
		SpecApplied: application.Status.ObservedGeneration == application.Generation,
		Changes:     applied.Changes, Rollout: observed.Workload(),
		Degraded: meta.IsStatusConditionTrue(next.Status.Conditions, v1alpha1.ConditionDegraded), Err: err,
	})
	if ctx.Err() != nil {
		return reconcile.Result{}, nil // The operator is stopping, which is not a failure. The next leader reconciles again.
	}
	r.Metrics.Reconciled(v1alpha1.ApplicationKind, err)
	return reconcileerror.Resolve(err)
}
