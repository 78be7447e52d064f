package controller

import (
	"context"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"
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
	"github.com/example/memcached-operator/operator/kube/workload"
)

// Reconciler reconciles Applications.
type Reconciler struct {
	// Client reads from the cache and writes to the API server.
	Client client.Client

	// Live reads from the API server.
	Live client.Reader

	// Applier writes the objects that an Application owns.
	Applier *apply.Applier

	// Reporter reads Applications and reports on them.
	Reporter *report.Reporter

	// Clock provides the transition times of conditions.
	Clock clock.PassiveClock

	// PodSecurity is the level of the pod security standards that the pods of Applications have to meet. Default: baseline.
	PodSecurity api.Level

	// claiming is held while a host is claimed.
	claiming sync.Mutex
}

// Reconcile makes the cluster match one Application. The status is written even if an earlier stage fails.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	application := &v1alpha1.Application{}
	if found, err := r.Reporter.Read(ctx, request.NamespacedName, application); !found {
		return reconcileerror.Resolve(err)
	}
	in, err := ApplicationInputs(ctx, r.Client, application)
	if err == nil {
		err = r.hosts().add(ctx, &in)
	}
	now := metav1.NewTime(r.Clock.Now())
	if err != nil {
		next := application.DeepCopy()
		conditions.SetUnread(&next.Status.Conditions, application.Generation, err, now)
		wait, err := r.Reporter.Report(ctx, report.Outcome{Before: application, After: next, Err: err})
		return reconcileerror.Resolve(err, wait)
	}
	in, claimErr := r.claimHost(ctx, in)
	in.PodSecurity = r.PodSecurity
	application = in.Application
	if reconcileerror.IsStale(claimErr) {
		wait, err := r.Reporter.Report(ctx, report.Outcome{Before: application, After: application, Err: claimErr})
		return reconcileerror.Resolve(err, wait)
	}
	plan, planErr := desired.Plan(in)
	id := desired.Identity(application)
	applied, applyErr := r.Applier.Apply(ctx, application, plan)
	if slices.ContainsFunc(applied.Changes, removesIngress) {
		in.Ingress = nil
	}
	observed, observeErr := children.Read(ctx, r.Client, application, id, plan, applied)
	err = reconcileerror.Join(claimErr, applyErr, observeErr, planErr)

	next := application.DeepCopy()
	next.Status = status.Application(in, conditions.Reconcile{
		Observed: observed, Selector: id.SelectorString(), Err: err, Now: now,
	})
	wait, err := r.Reporter.Report(ctx, report.Outcome{
		Before: application, After: next, RolloutByOperator: workload.RolloutByOperator(observed.Deployment),
		Changes: applied.Changes, Rollout: observed.Workload(), Err: err,
	})
	return reconcileerror.Resolve(err, wait, recheck(in))
}

func removesIngress(change apply.Change) bool {
	return change.Action == apply.Deleted && change.Object.Kind == "Ingress"
}

// recheck returns when to look again without a change of an Application that concerns this one, 0 if not at all.
func recheck(in desired.Inputs) time.Duration {
	if holder := desired.Holder(in); holder != nil && holder.Status.IngressClaim == nil {
		return unclaimedRecheck
	}
	return 0
}
