package walk

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// ignored are kinds whose objects nobody installs: events, statuses, and what OLM derives from its catalogs for every
// namespace.
var ignored = []string{"events", "packagemanifests", "componentstatuses"}

// Inventory lists all objects on the cluster, sorted: a line for each object of each kind that can be listed, for example
// "deployments.apps default/cache" or "clusterroles.rbac.authorization.k8s.io admin". Of a generated name, such as that of a pod of a
// Deployment, it has only the prefix: the pod may be replaced at any time.
func (c *Cluster) Inventory(ctx context.Context) ([]string, error) {
	client, err := discovery.NewDiscoveryClientForConfig(c.Config)
	if err != nil {
		return nil, fmt.Errorf("list the kinds of the cluster: %w", err)
	}
	lists, err := client.ServerPreferredResources()
	if err != nil {
		return nil, fmt.Errorf("list the kinds of the cluster: %w", err)
	}
	var lines []string
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("list the kinds of the cluster: %w", err)
		}
		for _, resource := range list.APIResources {
			if slices.Contains(ignored, resource.Name) || !slices.Contains(resource.Verbs, "list") {
				continue
			}
			found, err := c.inventoryOf(ctx, group, resource)
			if err != nil {
				return nil, err
			}
			lines = append(lines, found...)
		}
	}
	slices.Sort(lines)
	return lines, nil
}

func (c *Cluster) inventoryOf(ctx context.Context, group schema.GroupVersion, resource metav1.APIResource) ([]string, error) {
	objects := &metav1.PartialObjectMetadataList{}
	objects.SetGroupVersionKind(group.WithKind(resource.Kind + "List"))
	err := c.Client.List(ctx, objects)
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil, nil // The kind went away meanwhile.
	}
	kind := group.WithResource(resource.Name).GroupResource().String()
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", kind, err)
	}
	var lines []string
	for _, object := range objects.Items {
		name := object.Name
		if object.GenerateName != "" {
			name = object.GenerateName + "*"
		}
		if object.Namespace != "" {
			name = object.Namespace + "/" + name
		}
		lines = append(lines, kind+" "+name)
	}
	return lines, nil
}
