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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/workload"
)

// Reader reads the kinds that it knows.
type Reader interface {
	client.Reader
	Scheme() *runtime.Scheme
}

// Read returns what there is of the objects that plan wants for owner, and the pods of the Deployment among them.
// Objects of others are left out, even if they carry our labels.
//
// written are the objects that were written in this pass. They are newer than the cache: a rollout must not be taken for
// finished because the cache has not yet seen it start.
func Read(
	ctx context.Context, reader Reader, owner client.Object, id owned.Identity, plan owned.Plan, written []*unstructured.Unstructured,
) (workload.Observed, error) {
	var observed workload.Observed
	for _, configuration := range plan.Present {
		reference := owned.ReferenceTo(configuration)
		if !reader.Scheme().Recognizes(reference.GroupVersionKind) {
			continue // No status speaks of it.
		}
		object, err := child(ctx, reader, owner, reference, written)
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
	if err := leaving(ctx, reader, owner, plan, &observed); err != nil {
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

// leaving adds what runs pods until something else has taken its place.
func leaving(ctx context.Context, reader Reader, owner client.Object, plan owned.Plan, observed *workload.Observed) error {
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

// child returns the object that reference names, nil when there is none that belongs to owner.
func child(
	ctx context.Context, reader Reader, owner client.Object, reference owned.Reference, written []*unstructured.Unstructured,
) (client.Object, error) {
	object, err := empty(reader, reference.GroupVersionKind)
	if err != nil {
		return nil, err
	}
	for _, found := range written {
		if found.GroupVersionKind() != reference.GroupVersionKind || found.GetName() != reference.Name {
			continue
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, object); err != nil {
			return nil, fmt.Errorf("decode the %s that the API server returned: %w", reference.Kind, err)
		}
		return object, nil
	}
	err = reader.Get(ctx, client.ObjectKey{Namespace: reference.Namespace, Name: reference.Name}, object)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read %s %s/%s: %w", reference.Kind, reference.Namespace, reference.Name, err)
	}
	if err != nil || !metav1.IsControlledBy(object, owner) {
		return nil, nil // No object is an answer, and documented.
	}
	return object, nil
}

// empty returns an empty object of a kind. Only typed objects come from the cache.
func empty(reader Reader, gvk schema.GroupVersionKind) (client.Object, error) {
	object, err := reader.Scheme().New(gvk)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", gvk.Kind, err)
	}
	typed, ok := object.(client.Object)
	if !ok {
		return nil, fmt.Errorf("read %s: %T is not an object", gvk.Kind, object)
	}
	return typed, nil
}

// belongs tells whether a pod was made by the Deployment or the StatefulSet of a name. Between a Deployment and its pods
// stands a ReplicaSet, which needs not be read: its name is the Deployment's and the hash of the template, which the pod
// carries as a label.
func belongs(pod *corev1.Pod, name string) bool {
	controller := metav1.GetControllerOf(pod)
	if controller == nil {
		return false
	}
	return controller.Kind == "StatefulSet" && controller.Name == name ||
		controller.Kind == "ReplicaSet" && controller.Name == name+"-"+pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
}
