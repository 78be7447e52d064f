package walk

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/hack/project"
)

// The manifests of OLM v1, in the folder olm/v1.
const (
	catalogFile   = "10-clustercatalog.yaml"
	extensionFile = "30-clusterextension.yaml"
)

// Pin is what a ClusterExtension asks for.
type Pin struct {
	// Version is a version or a range of versions, empty for the newest one.
	Version string
	// Channel is the channel to follow, empty for all.
	Channel string
	// Force installs a version to which the catalog has no edge from the installed one.
	Force bool
}

// olmv1Status is the part of the status of a ClusterExtension or a ClusterCatalog that is read here.
type olmv1Status struct {
	metav1.ObjectMeta `json:"metadata"`

	Status struct {
		Conditions []metav1.Condition `json:"conditions"`
		Install    struct {
			Bundle struct {
				Version string `json:"version"`
			} `json:"bundle"`
		} `json:"install"`
		ResolvedSource struct {
			Image struct {
				Ref string `json:"ref"`
			} `json:"image"`
		} `json:"resolvedSource"`
	} `json:"status"`
}

// ApplyInstaller applies all manifests of OLM v1 but the ClusterExtension, and waits until OLM v1 serves the catalog.
func (c *Cluster) ApplyInstaller(ctx context.Context, folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return fmt.Errorf("list the manifests in %s: %w", folder, err)
	}
	for _, file := range files {
		if filepath.Base(file) == extensionFile {
			continue
		}
		if _, err := c.Kubectl(ctx, "apply", "-f", file); err != nil {
			return err
		}
	}
	return c.waitServed(ctx, "")
}

// SetClusterCatalog makes the ClusterCatalog serve another image, and waits until OLM v1 serves it. The image is named by its digest.
func (c *Cluster) SetClusterCatalog(ctx context.Context, folder, image string) error {
	err := c.applyChanged(ctx, filepath.Join(folder, catalogFile), func(object map[string]any) error {
		return unstructured.SetNestedMap(object, map[string]any{"ref": image}, "spec", "source", "image") // A digest is not polled.
	})
	if err != nil {
		return err
	}
	_, digest, _ := strings.Cut(image, "@")
	return c.waitServed(ctx, digest)
}

// waitServed waits until OLM v1 serves the ClusterCatalog, from an image with this digest unless it is empty.
func (c *Cluster) waitServed(ctx context.Context, digest string) error {
	return Within(ctx, time.Minute, "OLM v1 to serve the catalog", func(ctx context.Context) error {
		catalog, err := c.olmv1(ctx, "ClusterCatalog")
		if err != nil {
			return err
		}
		for _, condition := range catalog.Status.Conditions {
			if condition.Type == "Serving" && condition.Status == metav1.ConditionTrue && strings.HasSuffix(catalog.Status.ResolvedSource.Image.Ref, digest) {
				return nil
			}
		}
		return fmt.Errorf("the ClusterCatalog serves %q: %s", catalog.Status.ResolvedSource.Image.Ref, messages(catalog.Status.Conditions))
	})
}

// Extend applies the ClusterExtension of the folder, with another pin.
func (c *Cluster) Extend(ctx context.Context, folder string, pin Pin) error {
	return c.applyChanged(ctx, filepath.Join(folder, extensionFile), func(object map[string]any) error {
		catalog := map[string]any{"packageName": Package, "upgradeConstraintPolicy": "CatalogProvided"}
		if pin.Version != "" {
			catalog["version"] = pin.Version
		}
		if pin.Channel != "" {
			catalog["channels"] = []any{pin.Channel}
		}
		if pin.Force {
			catalog["upgradeConstraintPolicy"] = "SelfCertified"
		}
		return unstructured.SetNestedMap(object, catalog, "spec", "source", "catalog")
	})
}

// applyChanged applies a manifest of one object after a change.
func (c *Cluster) applyChanged(ctx context.Context, file string, change func(object map[string]any) error) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read a manifest: %w", err)
	}
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(content, &object.Object); err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	if err := change(object.Object); err != nil {
		return fmt.Errorf("change %s: %w", file, err)
	}
	// OLM v1 may write the status meanwhile.
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(object.GroupVersionKind())
		err := c.Client.Get(ctx, types.NamespacedName{Name: object.GetName()}, live)
		if apierrors.IsNotFound(err) {
			return c.Client.Create(ctx, object)
		} else if err != nil {
			return err
		}
		live.Object["spec"] = object.Object["spec"]
		return c.Client.Update(ctx, live)
	})
}

// WaitExtension waits until OLM v1 has installed a version, and only pods of that version run the operator.
func (c *Cluster) WaitExtension(ctx context.Context, version string, d time.Duration) error {
	return Within(ctx, d, "OLM v1 to install "+version, func(ctx context.Context) error {
		extension, err := c.olmv1(ctx, "ClusterExtension")
		if err != nil {
			return err
		}
		if at := extension.Status.Install.Bundle.Version; at != version {
			return fmt.Errorf("the ClusterExtension is at %q: %s", at, messages(extension.Status.Conditions))
		}
		for _, condition := range extension.Status.Conditions {
			if condition.Type == "Progressing" && (condition.Reason != "Succeeded" || condition.ObservedGeneration != extension.Generation) {
				return fmt.Errorf("the ClusterExtension is not done: %s", messages(extension.Status.Conditions))
			}
		}
		return c.operatorRolledOut(ctx)
	})
}

// WaitExtensionSays waits until a condition of the ClusterExtension, about its current generation, has a text in its message.
func (c *Cluster) WaitExtensionSays(ctx context.Context, text string) error {
	return Within(ctx, time.Minute, fmt.Sprintf("the ClusterExtension to say %q", text), func(ctx context.Context) error {
		extension, err := c.olmv1(ctx, "ClusterExtension")
		if err != nil {
			return err
		}
		for _, condition := range extension.Status.Conditions {
			if condition.ObservedGeneration == extension.Generation && strings.Contains(condition.Message, text) {
				return nil
			}
		}
		return fmt.Errorf("it says: %s", messages(extension.Status.Conditions))
	})
}

// olmv1 reads the operator's object of a kind of OLM v1.
func (c *Cluster) olmv1(ctx context.Context, kind string) (*olmv1Status, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: "olm.operatorframework.io", Version: "v1", Kind: kind})
	if err := c.Client.Get(ctx, types.NamespacedName{Name: Package}, object); err != nil {
		return nil, err
	}
	found := &olmv1Status{}
	return found, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, found)
}

// messages returns the conditions in one line.
func messages(conditions []metav1.Condition) string {
	var all []string
	for _, condition := range conditions {
		all = append(all, fmt.Sprintf("%s is %s (%s: %s)", condition.Type, condition.Status, condition.Reason, condition.Message))
	}
	return strings.Join(all, "; ")
}

// operatorRolledOut returns nil if only pods of the current template of the operator's Deployment are there, and all are ready.
func (c *Cluster) operatorRolledOut(ctx context.Context) error {
	var deployment appsv1.Deployment
	if err := c.Client.Get(ctx, types.NamespacedName{Namespace: Namespace, Name: project.Deployment}, &deployment); err != nil {
		return err
	}
	status, wanted := deployment.Status, *deployment.Spec.Replicas
	if status.ObservedGeneration < deployment.Generation || status.Replicas != wanted || status.UpdatedReplicas != wanted || status.AvailableReplicas != wanted {
		return fmt.Errorf("the operator is not rolled out: %+v", status)
	}
	pods, err := c.OperatorPods(ctx)
	if err == nil && len(pods) != int(wanted) {
		err = fmt.Errorf("the operator has %d pods, want %d", len(pods), wanted)
	}
	return err
}

// RemoveExtension deletes the ClusterExtension, and waits until the operator is gone.
func (c *Cluster) RemoveExtension(ctx context.Context) error {
	if err := c.Delete(ctx, "clusterextension", Package, "--timeout=60s"); err != nil {
		return err
	}
	return Within(ctx, time.Minute, "the operator to go with its ClusterExtension", func(ctx context.Context) error {
		pods, err := c.OperatorPods(ctx)
		if err == nil && len(pods) > 0 {
			err = fmt.Errorf("%s is there", pods[0].Name)
		}
		return err
	})
}
