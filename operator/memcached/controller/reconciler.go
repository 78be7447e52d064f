package controller

import (
	"cmp"
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/apply"
	"github.com/example/memcached-operator/operator/kube/conditions"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
	"github.com/example/memcached-operator/operator/kube/report"
	"github.com/example/memcached-operator/operator/memcached/desired"
	"github.com/example/memcached-operator/operator/memcached/executor"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/status"
	"github.com/example/memcached-operator/operator/metrics"
	"github.com/example/memcached-operator/operator/olmcondition"
)

// Reconciler brings the cluster to what each Memcached asks for.
type Reconciler struct {
	// Client reads from the operator's caches and writes to the API server.
	Client client.Client

	// Applier writes the objects that a cache owns.
	Applier *apply.Applier

	// Reporter writes the status and emits events.
	Reporter *report.Reporter

	// Metrics counts outcomes.
	Metrics *metrics.Metrics

	// Work tracks what an upgrade of the operator should wait for.
	Work *olmcondition.Tracker

	// Clock dates conditions.
	Clock clock.PassiveClock

	// Inputs reads what the desired state is computed from.
	Inputs *inputs.Reader

	// States asks the agents of pods for the state of their memcached.
	States func(context.Context, []corev1.Pod) map[string]*agentapi.State

	// Executor changes the pods of a StatefulSet.
	Executor *executor.Executor
}

// Reconcile takes one Memcached through the stages. The status is written even when a stage has failed.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	memcached := &v1alpha1.Memcached{}
	err := r.Client.Get(ctx, request.NamespacedName, memcached)
	if apierrors.IsNotFound(err) || err == nil && !memcached.DeletionTimestamp.IsZero() {
		r.Work.End(olmcondition.Object{Kind: v1alpha1.MemcachedKind, NamespacedName: request.NamespacedName})
		r.Reporter.Forget(memcached, request.NamespacedName)
		return reconcile.Result{}, nil // The garbage collector deletes what a cache owns.
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	if r.Reporter.IsStale(memcached) {
		return reconcileerror.Resolve(reconcileerror.Stale(errors.New("the cached copy is older than the status that was written last")))
	}
	now := metav1.NewTime(r.Clock.Now())
	in, err := r.Inputs.Read(ctx, memcached, now)
	if err != nil {
		return reconcile.Result{}, err // Without its inputs, nothing true can be said in the status.
	}
	id := desired.Identity(memcached)
	plan, planErr := desired.MakePlan(in)
	applied, applyErr := r.Applier.Apply(ctx, memcached, plan.Plan)
	observed, observeErr := r.children(ctx, in, plan, applied)
	seen, step, rollErr := r.roll(ctx, in, observed, reconcileerror.IsStale(applyErr))
	err = cmp.Or(applyErr, observeErr, rollErr, planErr)

	r.Reporter.Announce(ctx, memcached, report.Actions{Changes: applied.Changes, Step: made(step, rollErr)})
	next := memcached.DeepCopy()
	if !reconcileerror.IsStale(err) {
		next.Status = status.Memcached(in, plan, seen, conditions.Reconcile{
			Observed: observed, Selector: id.SelectorString(), Err: err, Now: now,
		})
		if reportErr := r.Reporter.Report(ctx, memcached, next); reportErr != nil {
			err = reportErr
		}
	}
	r.Work.Reconciled(olmcondition.Reconcile{
		Object:      olmcondition.Object{Kind: v1alpha1.MemcachedKind, NamespacedName: request.NamespacedName},
		SpecApplied: memcached.Status.ObservedGeneration == memcached.Generation,
		Changes:     applied.Changes, Rollout: observed.Workload(),
		Degraded: meta.IsStatusConditionTrue(next.Status.Conditions, v1alpha1.ConditionDegraded), Err: err,
	})
	if ctx.Err() != nil {
		return reconcile.Result{}, nil // The operator stops; the next one reconciles again, so this is no failure.
	}
	r.Metrics.Reconciled(v1alpha1.MemcachedKind, err)
	return reconcileerror.Resolve(err, step.After, plan.Recheck)
}
