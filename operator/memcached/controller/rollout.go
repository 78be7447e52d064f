package controller

import (
	"context"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/apply"
	"github.com/example/memcached-operator/operator/kube/children"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/report"
	"github.com/example/memcached-operator/operator/kube/workload"
	"github.com/example/memcached-operator/operator/memcached/desired"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/status"
	"github.com/example/memcached-operator/operator/memcached/update/rollout"
)

// The defaults of spec.hitRatioGate.
const (
	recoveredPercent = 90
	gateTimeout      = 10 * time.Minute
)

// children returns the planned objects that exist, their pods, and why pods of a StatefulSet cannot be created.
func (r *Reconciler) children(
	ctx context.Context, in inputs.Inputs, plan desired.Plan, applied apply.Result,
) (workload.Observed, error) {
	id := desired.Identity(in.Memcached)
	observed, err := children.Read(ctx, r.Client, in.Memcached, id, plan.Plan, applied)
	if err == nil {
		observed.CreateFailure, err = r.Inputs.CreateFailure(ctx, in.Memcached, observed.StatefulSet, in.Now)
	}
	return observed, err
}

// roll makes the next step that brings the pods of a StatefulSet to its template; Kubernetes itself replaces the pods of a
// Deployment. It returns the outcome of the step and what the agents said. It changes no pod if the plan was made from
// outdated objects, or unless the StatefulSet is confirmed to have the template that the operator wants: another one may be
// somebody else's.
func (r *Reconciler) roll(
	ctx context.Context, in inputs.Inputs, plan desired.Plan, observed workload.Observed, confirmed sets.Set[owned.Reference], outdated bool,
) (status.Runtime, rollout.Step, error) {
	if outdated {
		return status.Runtime{}, rollout.Step{Kind: rollout.None}, nil
	}
	seen := status.Runtime{States: r.States(ctx, observed.Pods)}
	set := observed.StatefulSet
	if set == nil || !confirmed.Has(owned.Reference{
		GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("StatefulSet"), Namespace: set.Namespace, Name: set.Name,
	}) {
		return seen, rollout.Step{Kind: rollout.None}, nil
	}
	revisions, err := inputs.Revisions(ctx, r.Client, set)
	if err != nil {
		return seen, rollout.Step{}, err
	}
	situation := rollout.Input{
		StatefulSet: set, Revisions: revisions, Records: plan.Records, States: seen.States, Now: in.Now,
		Service: in.Memcached.Spec.Service != nil, KeepsUnready: in.AgentRestarts && confirmed.Has(owned.Reference{
			GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Service"), Namespace: set.Namespace, Name: set.Name,
		}),
		PullPods: in.PullPods,
		Approved: ptr.Deref(in.Memcached.Spec.Updates, v1alpha1.MemcachedUpdates{}).Policy == v1alpha1.UpdateAutomatic,
		Pods:     slices.DeleteFunc(slices.Clone(observed.Pods), func(pod corev1.Pod) bool { return !metav1.IsControlledBy(&pod, set) }),
		Version:  func(image string) string { return in.VersionOf(image, "") },
		Features: in.Features,
		Gate:     gate(in.Memcached.Spec.HitRatioGate),
	}
	if plan.Pull != nil {
		situation.Pulling, situation.PullFailed = plan.Pull.Message, plan.Pull.Failed
	}
	step, err := rollout.Next(situation)
	if err == nil {
		step, err = r.Executor.Do(ctx, situation, step)
	}
	seen.Progress = ptr.To(situation.Progress(step))
	return seen, step, err
}

// rolloutByOperator says whether a rollout of the workload is the operator's own: nobody else wanted the newest record, the workload has its
// template, and its rollout has never been complete. A workload that could not be read may have it.
func rolloutByOperator(records []inputs.Record, observed workload.Observed) bool {
	if len(records) == 0 || records[0].Cause != inputs.ByOperator || records[0].RolledOut {
		return false
	}
	annotations := map[string]string{owned.RecordAnnotation: records[0].Name}
	switch {
	case observed.StatefulSet != nil:
		annotations = observed.StatefulSet.Annotations
	case observed.Deployment != nil:
		annotations = observed.Deployment.Annotations
	}
	return annotations[owned.RecordAnnotation] == records[0].Name
}

// gate returns the hit ratio gate of a spec with its defaults, nil without one.
func gate(spec *v1alpha1.MemcachedHitRatioGate) *rollout.Gate {
	if spec == nil {
		return nil
	}
	gate := &rollout.Gate{RecoveredPercent: ptr.Deref(spec.RecoveredPercent, recoveredPercent), Timeout: gateTimeout}
	if spec.Timeout != nil {
		gate.Timeout = spec.Timeout.Duration
	}
	return gate
}

// made returns a step that changed something for the report, otherwise the zero value. err is the outcome of the step.
func made(step rollout.Step, err error) report.Step {
	if err != nil || step.Kind == rollout.None || step.Kind == rollout.Wait {
		return report.Step{}
	}
	return report.Step{Text: step.Message, IgnoresRestart: step.Ignores}
}

// warnings returns the conditions of which the user is told by an event as well.
func warnings(plan desired.Plan) map[string]string {
	if plan.Pull == nil || !plan.Pull.Failed {
		return nil
	}
	return map[string]string{v1alpha1.ConditionUpdatePending: v1alpha1.EventImageNotPulled}
}
