package executor

import (
	"context"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/kube/apply"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
	"github.com/example/memcached-operator/operator/memcached/update/rollout"
)

// confirm checks that the StatefulSet and its pods are still as in the input.
func confirm(ctx context.Context, live client.Reader, input rollout.Input) error {
	set := input.StatefulSet
	if err := apply.Confirm(ctx, live, set, appsv1.SchemeGroupVersion.WithKind("StatefulSet")); err != nil {
		return err
	}
	pods := &metav1.PartialObjectMetadataList{}
	pods.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	if err := live.List(ctx, pods, client.InNamespace(set.Namespace), client.MatchingLabels(set.Spec.Selector.MatchLabels)); err != nil {
		return fmt.Errorf("list the pods of StatefulSet %s/%s: %w", set.Namespace, set.Name, err)
	}
	if !same(input, pods.Items) {
		return reconcileerror.Stale(fmt.Errorf("the pods of StatefulSet %s/%s have changed meanwhile", set.Namespace, set.Name))
	}
	return nil
}

// same reports whether the pods in the input are still the pods of the StatefulSet.
func same(input rollout.Input, now []metav1.PartialObjectMetadata) bool {
	before, after := map[types.UID]string{}, map[types.UID]string{}
	for i := range input.Pods {
		before[input.Pods[i].UID] = input.Pods[i].ResourceVersion
	}
	for i := range now {
		if metav1.IsControlledBy(&now[i], input.StatefulSet) {
			after[now[i].UID] = now[i].ResourceVersion
		}
	}
	return maps.Equal(before, after)
}
