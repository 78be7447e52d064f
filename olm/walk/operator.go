package walk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// OperatorPods are the pods of the operator, those that are ending included.
func (c *Cluster) OperatorPods(ctx context.Context) ([]corev1.Pod, error) {
	var pods corev1.PodList
	if err := c.Client.List(ctx, &pods, client.InNamespace(Namespace), client.MatchingLabels{"app.kubernetes.io/name": Package}); err != nil {
		return nil, fmt.Errorf("list the operator's pods: %w", err)
	}
	return pods.Items, nil
}

// Offer is what a version offers to users, as its ClusterServiceVersion says.
type Offer struct {
	// Kinds are those of the resources that it looks after.
	Kinds []schema.GroupVersionKind
	// Examples are a resource of each kind, as the console shows them (alm-examples).
	Examples []unstructured.Unstructured
}

// Offer reads what an installed version offers.
func (c *Cluster) Offer(ctx context.Context, version string) (*Offer, error) {
	var csv operatorsv1alpha1.ClusterServiceVersion
	if err := c.Client.Get(ctx, types.NamespacedName{Namespace: Namespace, Name: CSVName(version)}, &csv); err != nil {
		return nil, fmt.Errorf("read what version %s offers: %w", version, err)
	}
	offer := &Offer{}
	for _, owned := range csv.Spec.CustomResourceDefinitions.Owned {
		group := schema.ParseGroupResource(owned.Name).Group
		offer.Kinds = append(offer.Kinds, schema.GroupVersionKind{Group: group, Version: owned.Version, Kind: owned.Kind})
	}
	if err := json.Unmarshal([]byte(csv.Annotations["alm-examples"]), &offer.Examples); err != nil {
		return nil, fmt.Errorf("read the examples of %s: %w", csv.Name, err)
	}
	return offer, nil
}

// WaitReadyResource waits until a resource of the operator, of whatever kind, reports Ready for its current spec.
func (c *Cluster) WaitReadyResource(ctx context.Context, kind schema.GroupVersionKind, key types.NamespacedName, d time.Duration) error {
	return Within(ctx, d, fmt.Sprintf("%s %s to be ready", kind.Kind, key), func(ctx context.Context) error {
		var object unstructured.Unstructured
		object.SetGroupVersionKind(kind)
		if err := c.Client.Get(ctx, key, &object); err != nil {
			return err
		}
		return ready(object)
	})
}

// ready returns what keeps a resource from being ready, nil when nothing does.
func ready(object unstructured.Unstructured) error {
	conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	if err != nil {
		return err
	}
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		if condition["type"] != "Ready" {
			continue
		}
		if generation, _ := condition["observedGeneration"].(int64); condition["status"] != string(metav1.ConditionTrue) || generation != object.GetGeneration() {
			return fmt.Errorf("condition Ready is %v for generation %d of %d: %v: %v", condition["status"], generation, object.GetGeneration(), condition["reason"], condition["message"])
		}
		return nil
	}
	return errors.New("no Ready condition yet")
}
