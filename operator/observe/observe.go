package observe

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

	"github.com/example/memcached-operator/operator/desired/meta"
	"github.com/example/memcached-operator/operator/scope"
)

// Children returns the Deployment of owner, which has its name, and the Deployment's pods. Objects of others are left
// out, even if they carry our labels.
//
// written are the objects that were written in this pass. They are newer than the cache: a rollout must not be taken for
// finished because the cache has not yet seen it start.
func Children(
	ctx context.Context, reader client.Reader, owner client.Object, id meta.Identity, written []*unstructured.Unstructured,
) (scope.Observed, error) {
	deployment, err := deploymentOf(ctx, reader, owner, written)
	if err != nil || deployment == nil {
		return scope.Observed{}, err
	}
	pods := &corev1.PodList{}
	if err := reader.List(ctx, pods, client.InNamespace(owner.GetNamespace()), client.MatchingLabels(id.Selector())); err != nil {
		return scope.Observed{}, fmt.Errorf("list the pods of %s/%s: %w", owner.GetNamespace(), owner.GetName(), err)
	}
	own := slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return !belongs(&pod, deployment) })
	slices.SortFunc(own, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return scope.Observed{Deployment: deployment, Pods: own}, nil
}

func deploymentOf(
	ctx context.Context, reader client.Reader, owner client.Object, written []*unstructured.Unstructured,
) (*appsv1.Deployment, error) {
	deployment := &appsv1.Deployment{}
	for _, object := range written {
		if object.GroupVersionKind() == appsv1.SchemeGroupVersion.WithKind("Deployment") && object.GetName() == owner.GetName() {
			err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, deployment)
			if err != nil {
				return nil, fmt.Errorf("decode the Deployment that the API server returned: %w", err)
			}
			return deployment, nil
		}
	}
	err := reader.Get(ctx, client.ObjectKeyFromObject(owner), deployment)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read Deployment %s/%s: %w", owner.GetNamespace(), owner.GetName(), err)
	}
	if err != nil || !metav1.IsControlledBy(deployment, owner) {
		return nil, nil // No Deployment is an answer, and documented in scope.Observed.
	}
	return deployment, nil
}

// belongs tells whether a pod was made by the Deployment. Between the two stands a ReplicaSet, which needs not be read:
// its name is the Deployment's and the hash of the template, which the pod carries as a label.
func belongs(pod *corev1.Pod, deployment *appsv1.Deployment) bool {
	controller := metav1.GetControllerOf(pod)
	return controller != nil && controller.Kind == "ReplicaSet" &&
		controller.Name == deployment.Name+"-"+pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
}
