// Package children reads the objects that an owner has in the cluster, and their pods. It never writes and draws no
// conclusions: package workload and the packages of each kind do.
package children

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/kube/apply"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/workload"
)

// Reader reads objects and knows the kinds that have a Go type.
type Reader interface {
	client.Reader
	Scheme() *runtime.Scheme
}

// Read returns the objects of plan that exist and belong to owner, and their pods. Objects of other owners are left
// out, even if they have the operator's labels.
//
// applied is what this reconcile has applied. Objects that it has written take precedence over the cache: otherwise a rollout
// could seem finished because the cache has not seen it start. A confirmed object of a kind that is not watched is not read.
func Read(
	ctx context.Context, reader Reader, owner client.Object, id owned.Identity, plan owned.Plan, applied apply.Result,
) (workload.Observed, error) {
	var observed workload.Observed
	for _, configuration := range plan.Present {
		reference := owned.ReferenceTo(configuration)
		if !reader.Scheme().Recognizes(reference.GroupVersionKind) {
			continue // The status does not depend on kinds without a Go type.
		}
		if apply.Unwatched(reference) && applied.Confirmed.Has(reference) {
			observed.Present = append(observed.Present, reference)
			continue
		}
		object, err := child(ctx, reader, owner, reference, applied.Objects)
		if err != nil {
			return workload.Observed{}, err
		}
		if object == nil {
			continue
		}
		observed.Present = append(observed.Present, reference)
		switch typed := object.(type) {
		case *appsv1.Deployment:
			observed.Deployment = typed
		case *appsv1.StatefulSet:
			observed.StatefulSet = typed
		}
	}
	if err := readOutgoing(ctx, reader, owner, plan, &observed); err != nil {
		return workload.Observed{}, err
	}
	if observed.Workload() == nil && observed.Outgoing == nil {
		return observed, nil
	}
	pods := &corev1.PodList{}
	if err := reader.List(ctx, pods, client.InNamespace(owner.GetNamespace()), client.MatchingLabels(id.Selector())); err != nil {
		return workload.Observed{}, fmt.Errorf("list the pods of %s/%s: %w", owner.GetNamespace(), owner.GetName(), err)
	}
	observed.Pods = slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return !belongs(&pod, owner.GetName()) })
	slices.SortFunc(observed.Pods, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return observed, nil
}

// readOutgoing adds the workload that still runs pods and is being replaced.
func readOutgoing(ctx context.Context, reader Reader, owner client.Object, plan owned.Plan, observed *workload.Observed) error {
	for _, reference := range slices.Concat(plan.Kept, plan.Absent) {
		if reference.Kind != "Deployment" && reference.Kind != "StatefulSet" {
			continue
		}
		object, err := child(ctx, reader, owner, reference, nil)
		if err != nil {
			return err
		}
		switch typed := object.(type) {
		case *appsv1.Deployment:
			observed.Outgoing = workload.OfDeployment(typed)
		case *appsv1.StatefulSet:
			observed.Outgoing = workload.OfStatefulSet(typed)
		}
	}
	return nil
}

// child returns the object that reference names, nil if there is none that belongs to owner.
func child(
	ctx context.Context, reader Reader, owner client.Object, reference owned.Reference, written []*unstructured.Unstructured,
) (client.Object, error) {
	object := apply.Empty(reader.Scheme(), reference.GroupVersionKind)
	for _, found := range written {
		if found.GroupVersionKind() != reference.GroupVersionKind || found.GetName() != reference.Name {
			continue
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, object); err != nil {
			return nil, fmt.Errorf("decode the %s that the API server returned: %w", reference.Kind, err)
		}
		return object, nil
	}
	err := reader.Get(ctx, client.ObjectKey{Namespace: reference.Namespace, Name: reference.Name}, object)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read %s %s/%s: %w", reference.Kind, reference.Namespace, reference.Name, err)
	}
	if err != nil || !metav1.IsControlledBy(object, owner) {
		return nil, nil // Documented: there is no such object.
	}
	return object, nil
}

// belongs tells whether the Deployment or StatefulSet called name created a pod. The ReplicaSet between a Deployment
// and its pods is not read: its name is that of the Deployment and the template hash, which is a label of the pod.
func belongs(pod *corev1.Pod, name string) bool {
	controller := metav1.GetControllerOf(pod)
	if controller == nil {
		return false
	}
	return controller.Kind == "StatefulSet" && controller.Name == name ||
		controller.Kind == "ReplicaSet" && controller.Name == name+"-"+pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
}
