package controller

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
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
	"github.com/example/memcached-operator/operator/memcached/update/pending"
)

// Reconciler brings the cluster to what each Memcached asks for.
type Reconciler struct {
	// Client reads from the operator's caches and writes to the API server.
	Client client.Client

	// Applier writes the objects that a cache owns.
	Applier *apply.Applier

	// Reporter reads Memcacheds and reports on them.
	Reporter *report.Reporter

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
	if found, err := r.Reporter.Read(ctx, request.NamespacedName, memcached); !found {
		return reconcileerror.Resolve(err)
	}
	now := metav1.NewTime(r.Clock.Now())
	next := memcached.DeepCopy()
	in, err := r.Inputs.Read(ctx, memcached, now)
	if err != nil {
		conditions.SetUnread(&next.Status.Conditions, memcached.Generation, err, now)
		wait, err := r.Reporter.Report(ctx, report.Outcome{Before: memcached, After: next, Err: err})
		return reconcileerror.Resolve(err, wait)
	}
	id := desired.Identity(memcached)
	var pullAgain time.Duration
	var pullErr error
	in.RefusedPulls, pullAgain, pullErr = r.Executor.Pull(ctx, desired.MakePulls(in))
	plan, planErr := desired.MakePlan(in)
	applied, applyErr := r.Applier.Apply(ctx, memcached, plan.Plan)
	plan.Pending = pending.WithHeld(plan.Pending, applied.Held)
	observed, observeErr := r.children(ctx, in, plan, applied)
	seen, step, rollErr := r.roll(ctx, in, plan, observed, applied.Confirmed, reconcileerror.IsStale(applyErr))
	err = reconcileerror.Join(applyErr, observeErr, rollErr, planErr, pullErr)

	next.Status = status.Memcached(in, plan, seen, conditions.Reconcile{
		Observed: observed, Selector: id.SelectorString(), Err: err, Now: now,
	})
	wait, err := r.Reporter.Report(ctx, report.Outcome{
		Before: memcached, After: next, RolloutByOperator: rolloutByOperator(plan.Records, observed),
		Changes: applied.Changes, Step: made(step, rollErr), Warnings: warnings(plan), Rollout: observed.Workload(), Err: err,
		Unsettled: inputs.Silent(observed.Pods, seen.States),
	})
	return reconcileerror.Resolve(err, wait, step.After, plan.Recheck, applied.Recheck, pullAgain)
}
