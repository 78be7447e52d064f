package walk

import (
	"context"
	"encoding/json"
	"fmt"

	apimanifests "github.com/operator-framework/api/pkg/manifests"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// OperatorPods returns the pods of the operator, including those that are being deleted.
func (c *Cluster) OperatorPods(ctx context.Context) ([]corev1.Pod, error) {
	var pods corev1.PodList
	if err := c.Client.List(ctx, &pods, client.InNamespace(Namespace), client.MatchingLabels{"app.kubernetes.io/name": Package}); err != nil {
		return nil, fmt.Errorf("list the operator's pods: %w", err)
	}
	return pods.Items, nil
}

// Offer is what a version offers to users according to its ClusterServiceVersion.
type Offer struct {
	// Kinds are the kinds that it manages.
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
	return offerOf(&csv)
}

// ReadOffer reads what the version of a bundle's folder offers.
func ReadOffer(folder string) (*Offer, error) {
	bundle, err := apimanifests.GetBundleFromDir(folder)
	if err != nil {
		return nil, fmt.Errorf("read the bundle in %s: %w", folder, err)
	}
	return offerOf(bundle.CSV)
}

func offerOf(csv *operatorsv1alpha1.ClusterServiceVersion) (*Offer, error) {
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
