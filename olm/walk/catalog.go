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

	"github.com/example/memcached-operator/operator/kube/pods"
)

// AddCatalog creates a CatalogSource that differs from that of the manifests only in name and image. If one of this name
// exists, it gets the image.
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

// Poll makes OLM look as often as this whether the image of a CatalogSource has changed.
func (c *Cluster) Poll(ctx context.Context, name string, interval time.Duration) error {
	return c.patch(ctx, &operatorsv1alpha1.CatalogSource{}, name, fmt.Sprintf(`{"spec":{"updateStrategy":{"registryPoll":{"interval":%q}}}}`, interval))
}

// WaitCatalog waits until the image of the CatalogSource is served and OLM is connected to it. Until then OLM resolves from the
// content of an earlier CatalogSource of this name, even of a deleted one.
func (c *Cluster) WaitCatalog(ctx context.Context, name string, d time.Duration) error {
	return Within(ctx, d, "the catalog "+name+" to be served", func(ctx context.Context) error {
		var source operatorsv1alpha1.CatalogSource
		if err := c.Client.Get(ctx, types.NamespacedName{Namespace: Namespace, Name: name}, &source); err != nil {
			return err
		}
		var served corev1.PodList
		if err := c.Client.List(ctx, &served, client.InNamespace(Namespace), client.MatchingLabels{"olm.catalogSource": name}); err != nil {
			return err
		}
		return connected(&source, served.Items)
	})
}

// connected returns an error unless one pod serves the image of a CatalogSource and OLM has connected to it.
func connected(source *operatorsv1alpha1.CatalogSource, served []corev1.Pod) error {
	if len(served) != 1 {
		return fmt.Errorf("there are %d pods of it", len(served))
	}
	pod := &served[0]
	if !slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Image == source.Spec.Image }) {
		return fmt.Errorf("pod %s does not serve %s", pod.Name, source.Spec.Image)
	}
	if !pods.Ready(pod) {
		return fmt.Errorf("pod %s is not ready", pod.Name)
	}
	connection := source.Status.GRPCConnectionState
	if connection == nil || connection.LastObservedState != "READY" {
		return errors.New("OLM is not connected to it")
	}
	// The server starts when the init containers have ended. The time since which the pod is ready is no measure: a server that is restarted
	// accepts OLM's connection before the kubelet probes it.
	if started := pods.Condition(pod, corev1.PodInitialized); started == nil || connection.LastConnectTime.Before(&started.LastTransitionTime) {
		return errors.New("OLM is still connected to the one before")
	}
	return nil
}
