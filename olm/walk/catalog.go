package walk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// AddCatalog makes another CatalogSource beside the one of the manifests, and like it but for its name and image. It is no
// error if it is there.
func (c *Cluster) AddCatalog(ctx context.Context, name, image string) error {
	var source operatorsv1alpha1.CatalogSource
	if err := c.Client.Get(ctx, types.NamespacedName{Namespace: Namespace, Name: Package}, &source); err != nil {
		return fmt.Errorf("read the CatalogSource: %w", err)
	}
	other := &operatorsv1alpha1.CatalogSource{Spec: source.Spec}
	other.Namespace, other.Name, other.Spec.Image = Namespace, name, image
	err := c.Client.Create(ctx, other)
	if apierrors.IsAlreadyExists(err) {
		err = c.patch(ctx, &operatorsv1alpha1.CatalogSource{}, name, fmt.Sprintf(`{"spec":{"image":%q}}`, image))
	}
	if err != nil {
		return fmt.Errorf("create the CatalogSource %s: %w", name, err)
	}
	return nil
}

// WaitCatalog waits until the image of the CatalogSource is served, and OLM is connected to it. Until then OLM decides by
// what an earlier CatalogSource of the name has served, be it deleted since: it forgets that when it connects.
func (c *Cluster) WaitCatalog(ctx context.Context, name string, d time.Duration) error {
	return Within(ctx, d, "the catalog "+name+" to be served", func(ctx context.Context) error {
		var source operatorsv1alpha1.CatalogSource
		if err := c.Client.Get(ctx, types.NamespacedName{Namespace: Namespace, Name: name}, &source); err != nil {
			return err
		}
		var pods corev1.PodList
		if err := c.Client.List(ctx, &pods, client.InNamespace(Namespace), client.MatchingLabels{"olm.catalogSource": name}); err != nil {
			return err
		}
		if len(pods.Items) != 1 {
			return fmt.Errorf("there are %d pods of it", len(pods.Items))
		}
		pod := pods.Items[0]
		if !slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Image == source.Spec.Image }) {
			return fmt.Errorf("pod %s does not serve %s", pod.Name, source.Spec.Image)
		}
		i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })
		if i < 0 || pod.Status.Conditions[i].Status != corev1.ConditionTrue {
			return fmt.Errorf("pod %s is not ready", pod.Name)
		}
		connection := source.Status.GRPCConnectionState
		switch {
		case connection == nil || connection.LastObservedState != "READY":
			return errors.New("OLM is not connected to it")
		case connection.LastConnectTime.Before(&pod.Status.Conditions[i].LastTransitionTime):
			return errors.New("OLM is still connected to the one before")
		}
		return nil
	})
}
