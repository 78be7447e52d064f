package walk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	cachev1alpha1 "github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

// Ready returns nil if the resource reports Ready for its current spec, else an error with what it reports.
func Ready(resource unstructured.Unstructured) error {
	var reported struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(resource.Object, &reported); err != nil {
		return fmt.Errorf("read the conditions: %w", err)
	}
	return isTrue(reported.Status.Conditions, resource.GetGeneration())
}

func isTrue(conditions []metav1.Condition, generation int64) error {
	ready := meta.FindStatusCondition(conditions, cachev1alpha1.ConditionReady)
	if ready == nil {
		return errors.New("there is no condition Ready")
	}
	if ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != generation {
		return fmt.Errorf("condition Ready is %s for generation %d of %d: %s: %s", ready.Status, ready.ObservedGeneration, generation, ready.Reason, ready.Message)
	}
	return nil
}

// WaitReadyResource waits until a resource of the operator, of whatever kind, is Ready.
func (c *Cluster) WaitReadyResource(ctx context.Context, kind schema.GroupVersionKind, key types.NamespacedName, d time.Duration) error {
	return Within(ctx, d, fmt.Sprintf("%s %s to be ready", kind.Kind, key), func(ctx context.Context) error {
		var resource unstructured.Unstructured
		resource.SetGroupVersionKind(kind)
		if err := c.Client.Get(ctx, key, &resource); err != nil {
			return err
		}
		return Ready(resource)
	})
}

// WaitReady waits until the cache reports Ready for its current spec with this many ready pods, and returns it.
func (c *Cluster) WaitReady(ctx context.Context, key types.NamespacedName, size int32, d time.Duration) (*cachev1alpha1.Memcached, error) {
	var cache cachev1alpha1.Memcached
	err := Within(ctx, d, fmt.Sprintf("cache %s to be ready with %d pods", key, size), func(ctx context.Context) error {
		if err := c.Client.Get(ctx, key, &cache); err != nil {
			return err
		}
		if err := isTrue(cache.Status.Conditions, cache.Generation); err != nil {
			return err
		}
		if cache.Status.ReadyReplicas != size || len(cache.Status.Nodes) != int(size) {
			return fmt.Errorf("status has %d ready replicas and nodes %v", cache.Status.ReadyReplicas, cache.Status.Nodes)
		}
		return nil
	})
	return &cache, err
}
