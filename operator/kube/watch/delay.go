package watch

import (
	"context"
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/kube/apply"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/pods"
	"github.com/example/memcached-operator/operator/kube/workload"
)

// StatusDelay is how long a change that affects only the status may wait, and the first status of a new spec (package report). While pods
// start, each causes several events, and one status write for all of them is enough. The queue keeps one entry per object with its earliest
// time, so the status is never older than this. A start seldom takes longer, so a new object costs one status write, at the end.
//
// Other changes are reconciled immediately: a change of the spec, an owned object that another client has changed or
// deleted, the end of a rollout, and the loss of a pod.
const StatusDelay = 10 * time.Second

// Owner returns the Delay of custom resources: a new spec is urgent. Other changes are changes of the status. Those by the operator itself,
// as own tells, concern nobody.
func Owner(own func(client.Object) bool) Delay {
	return func(_ context.Context, before, now client.Object) time.Duration {
		switch {
		case before == nil || now == nil || before.GetGeneration() != now.GetGeneration():
			return 0
		case own(now):
			return Never
		}
		return StatusDelay
	}
}

// Child is the Delay of owned objects: changes by other clients are urgent. The operator's own changes are not, because
// the status already reflects them.
func Child(_ context.Context, before, now client.Object) time.Duration {
	if now == nil {
		return 0 // Deleted, or the operator's label was removed.
	}
	if before == nil {
		return StatusDelay // Created by the operator.
	}
	if hash(before) == hash(now) && !equality.Semantic.DeepEqual(content(before), content(now)) {
		return 0 // Changed by another client: a change by the operator changes the hash.
	}
	if hash(now) == "" || !maps.Equal(before.GetLabels(), now.GetLabels()) ||
		!equality.Semantic.DeepEqual(before.GetOwnerReferences(), now.GetOwnerReferences()) {
		return 0
	}
	return StatusDelay
}

// Asked returns how many pods the owner of a workload asks for, nil if that is not known.
type Asked func(ctx context.Context, workload client.Object) *int32

// Deployment returns a Delay that is like Child. The end of a rollout and the loss of a pod are urgent as well. A new size is not if the owner
// asks for it: the operator has scaled the Deployment, which does not change the hash.
func Deployment(asked Asked) Delay {
	return func(ctx context.Context, before, now client.Object) time.Duration {
		a, okA := before.(*appsv1.Deployment)
		b, okB := now.(*appsv1.Deployment)
		if !okA || !okB {
			return Child(ctx, before, now)
		}
		if endsOrLosesPod(workload.OfDeployment(a), workload.OfDeployment(b)) {
			return 0
		}
		if asked.scaled(ctx, a.Spec.Replicas, b.Spec.Replicas, b) {
			scaled := *a
			scaled.Spec.Replicas = b.Spec.Replicas
			a = &scaled
		}
		return Child(ctx, a, b)
	}
}

// StatefulSet is like Deployment. The operator updates its pods itself, so progress of an update is urgent as well.
func StatefulSet(asked Asked) Delay {
	return func(ctx context.Context, before, now client.Object) time.Duration {
		a, okA := before.(*appsv1.StatefulSet)
		b, okB := now.(*appsv1.StatefulSet)
		if !okA || !okB {
			return Child(ctx, before, now)
		}
		if endsOrLosesPod(workload.OfStatefulSet(a), workload.OfStatefulSet(b)) || updates(a, b) {
			return 0
		}
		if asked.scaled(ctx, a.Spec.Replicas, b.Spec.Replicas, b) {
			scaled := *a
			scaled.Spec.Replicas = b.Spec.Replicas
			a = &scaled
		}
		return Child(ctx, a, b)
	}
}

// scaled reports whether a workload has another number of pods than before, and its owner asks for that.
func (a Asked) scaled(ctx context.Context, before, now *int32, workload client.Object) bool {
	if ptr.Equal(before, now) {
		return false
	}
	asked := a(ctx, workload)
	return asked != nil && ptr.Equal(asked, now)
}

// updates reports whether an update of the pods of a StatefulSet begins, or may go on. The first status of a new one also brings a
// revision, but no pod has another.
func updates(before, now *appsv1.StatefulSet) bool {
	a, b := before.Status, now.Status
	return b.UpdatedReplicas < b.Replicas &&
		(a.UpdateRevision != b.UpdateRevision || a.ReadyReplicas != b.ReadyReplicas || a.ObservedGeneration != b.ObservedGeneration)
}

// endsOrLosesPod tells whether a rollout has ended, or a ready pod was lost.
func endsOrLosesPod(before, now *workload.Status) bool {
	return !before.Complete() && now.Complete() || now.LostPods(before)
}

// StatusOf returns the status of the workload that a pod belongs to, nil if that is not known.
type StatusOf func(ctx context.Context, pod client.Object) *workload.Status

// Workloads returns a StatusOf that reads Deployments and StatefulSets. Both have the name of their owner.
func Workloads(reader client.Reader) StatusOf {
	return func(ctx context.Context, pod client.Object) *workload.Status {
		controller, name := metav1.GetControllerOf(pod), types.NamespacedName{Namespace: pod.GetNamespace(), Name: pod.GetLabels()[owned.LabelInstance]}
		switch {
		case controller == nil:
		case controller.Kind == "StatefulSet":
			set := &appsv1.StatefulSet{}
			if reader.Get(ctx, name, set) == nil {
				return workload.OfStatefulSet(set)
			}
		case controller.Kind == "ReplicaSet":
			deployment := &appsv1.Deployment{}
			if reader.Get(ctx, name, deployment) == nil {
				return workload.OfDeployment(deployment)
			}
		}
		return nil
	}
}

// Pod returns the Delay of pods. The workload of a pod counts the pods that are ready, and reports when the last one becomes ready or one is
// lost: that change of the workload is urgent. The pod itself is urgent if the operator sees its change after that of the workload.
func Pod(statusOf StatusOf) Delay {
	return func(ctx context.Context, before, now client.Object) time.Duration {
		a, okA := before.(*corev1.Pod)
		b, okB := now.(*corev1.Pod)
		if !okA || !okB || pods.Usable(a) == pods.Usable(b) {
			return StatusDelay
		}
		status := statusOf(ctx, b)
		if status != nil && (pods.Usable(b) && status.Complete() || pods.Usable(a) && status.Ready < status.Wanted) {
			return 0
		}
		return StatusDelay
	}
}

// Now is the Delay of objects that a reconcile waits for.
func Now(_ context.Context, _, _ client.Object) time.Duration { return 0 }

func hash(object client.Object) string { return object.GetAnnotations()[apply.HashAnnotation] }

// content returns the part of an object that the operator sets. The generation is not sufficient: some kinds have none,
// and that of a Deployment also changes with annotations, one of which the Deployment controller writes at the start of
// each rollout.
func content(object client.Object) any {
	switch object := object.(type) {
	case *appsv1.Deployment:
		return object.Spec
	case *appsv1.StatefulSet:
		return object.Spec
	case *networkingv1.NetworkPolicy:
		return object.Spec
	case *corev1.Service:
		return object.Spec
	case *networkingv1.Ingress:
		return object.Spec
	case *policyv1.PodDisruptionBudget:
		return object.Spec
	}
	return nil
}
