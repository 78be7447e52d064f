package walk

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// Namespace is the namespace in which the manifests in olm/ install the operator.
	Namespace = "memcached-operator-system"
	// Package is the operator's name in the catalog, and the name of its Subscription.
	Package = "memcached-operator"
	// MemcachedCRD is the name of the CRD of the Memcached kind.
	MemcachedCRD = "memcacheds.cache.example.com"
	// ApplicationCRD is the name of the CRD of the Application kind. Version 0.1.0 does not have it.
	ApplicationCRD = "applications.app.example.com"
)

// Leftovers are the objects that OLM leaves on the cluster when the Subscription, the versions, the resources, their CRDs and
// the manifests are deleted: roles for people, which the bundle has, and OLM's record of the operator. They have no effect.
// The lines have the format of Inventory.
var Leftovers = []string{
	"clusterroles.rbac.authorization.k8s.io memcached-operator-application-editor-role",
	"clusterroles.rbac.authorization.k8s.io memcached-operator-application-viewer-role",
	"clusterroles.rbac.authorization.k8s.io memcached-operator-memcached-editor-role",
	"clusterroles.rbac.authorization.k8s.io memcached-operator-memcached-viewer-role",
	"clusterroles.rbac.authorization.k8s.io memcached-operator-metrics-reader",
	"operators.operators.coreos.com " + Package + "." + Namespace,
}

// Install applies every manifest of the folder, as `kubectl apply -f olm/` does. It applies the Subscription last, when the
// catalog is served: if a catalog of this name was deleted shortly before, OLM would still resolve from its content.
func (c *Cluster) Install(ctx context.Context, folder string) error {
	err := c.Client.List(ctx, &operatorsv1alpha1.CatalogSourceList{}, client.Limit(1))
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("the cluster at %s has no OLM: install it with `operator-sdk olm install`", c.Config.Host)
	}
	if err != nil {
		return fmt.Errorf("look for OLM: %w", err)
	}
	if err := c.installCatalog(ctx, folder); err != nil {
		return err
	}
	_, err = c.Kubectl(ctx, "apply", "-f", folder)
	return err
}

// installCatalog applies every manifest but the Subscription, and waits for the catalog.
func (c *Cluster) installCatalog(ctx context.Context, folder string) error {
	_, others, err := manifests(folder)
	if err != nil {
		return err
	}
	for _, file := range others {
		if _, err := c.Kubectl(ctx, "apply", "-f", file); err != nil {
			return err
		}
	}
	return c.WaitCatalog(ctx, Package, 3*time.Minute)
}

// manifests returns the folder's manifest of the Subscription, and the others.
func manifests(folder string) (subscription string, others []string, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return "", nil, fmt.Errorf("list the manifests in %s: %w", folder, err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "subscription.yaml") {
			subscription = file
		} else {
			others = append(others, file)
		}
	}
	if subscription == "" {
		return "", nil, fmt.Errorf("the folder %s has no …subscription.yaml", folder)
	}
	return subscription, others, nil
}

// WaitInstalled waits until the Subscription has installed the CSV of this version (without a leading v) and the CSV is
// Succeeded.
func (c *Cluster) WaitInstalled(ctx context.Context, version string, d time.Duration) error {
	name := CSVName(version)
	return Within(ctx, d, "install "+name+" through OLM", func(ctx context.Context) error {
		var sub operatorsv1alpha1.Subscription
		if err := c.Client.Get(ctx, types.NamespacedName{Namespace: Namespace, Name: Package}, &sub); err != nil {
			return err
		}
		if sub.Status.InstalledCSV != name {
			return fmt.Errorf("subscription is at %q (state %q, %s)", sub.Status.InstalledCSV, sub.Status.State, failing(sub.Status.Conditions))
		}
		var csv operatorsv1alpha1.ClusterServiceVersion
		if err := c.Client.Get(ctx, types.NamespacedName{Namespace: Namespace, Name: name}, &csv); err != nil {
			return err
		}
		if csv.Status.Phase != operatorsv1alpha1.CSVPhaseSucceeded {
			return fmt.Errorf("csv %s is %s: %s: %s", name, csv.Status.Phase, csv.Status.Reason, csv.Status.Message)
		}
		return nil
	})
}

// CSVName returns the name of the ClusterServiceVersion of a version.
func CSVName(version string) string {
	return Package + ".v" + version
}

// failing returns a condition of the Subscription that says why it does not install.
func failing(conditions []operatorsv1alpha1.SubscriptionCondition) string {
	out := "no failing condition"
	for _, cond := range conditions {
		if cond.Status == corev1.ConditionTrue && cond.Message != "" {
			out = fmt.Sprintf("%s: %s", cond.Type, cond.Message)
		}
	}
	return out
}

// InUse names the caches, applications and installed versions of the operator on the cluster. Kinds that the cluster does not
// know are no error.
func (c *Cluster) InUse(ctx context.Context) ([]string, error) {
	var used []string
	for what, kind := range map[string]schema.GroupVersionKind{
		"cache":       {Group: "cache.example.com", Version: "v1alpha1", Kind: "MemcachedList"},
		"application": {Group: "app.example.com", Version: "v1alpha1", Kind: "ApplicationList"},
		"operator":    operatorsv1alpha1.SchemeGroupVersion.WithKind("ClusterServiceVersionList"),
	} {
		objects := &metav1.PartialObjectMetadataList{}
		objects.SetGroupVersionKind(kind)
		if err := c.Client.List(ctx, objects); err != nil && !meta.IsNoMatchError(err) {
			return nil, fmt.Errorf("look for what is in use: list each %s: %w", what, err)
		}
		for _, object := range objects.Items {
			// OLM copies a CSV that serves all namespaces into each of them.
			if what == "operator" && (!strings.HasPrefix(object.Name, Package+".") || operatorsv1alpha1.IsCopied(&object)) {
				continue
			}
			used = append(used, fmt.Sprintf("%s %s/%s", what, object.Namespace, object.Name))
		}
	}
	slices.Sort(used)
	return used, nil
}

// unknownKind matches kubectl's error if the kind does not exist on the cluster.
var unknownKind = regexp.MustCompile("the server doesn't have a resource type|no matches for kind")

// Delete runs kubectl delete with args. Objects that do not exist, or whose kind does not exist, are no error.
func (c *Cluster) Delete(ctx context.Context, args ...string) error {
	_, err := c.Kubectl(ctx, append([]string{"delete", "--ignore-not-found"}, args...)...)
	if err != nil && unknownKind.MatchString(err.Error()) {
		return nil
	}
	return err
}

// Uninstall deletes what Install and the operator created, in the order of the README. The resources go first, with all they
// own: once their kind is gone, Kubernetes' garbage collector cannot look up the owner of what is left.
func (c *Cluster) Uninstall(ctx context.Context, folder string) error {
	for _, step := range []func(context.Context) error{
		c.DeleteResources,
		c.deleteVersions,
		func(ctx context.Context) error { return c.Delete(ctx, "-f", folder, "--timeout=120s") },
		c.DeleteDefinitions,
		c.DeleteLeftovers,
		c.DeleteGroupRoles,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return Within(ctx, 2*time.Minute, "namespace "+Namespace+" to go", func(ctx context.Context) error {
		var namespace corev1.Namespace
		err := c.Client.Get(ctx, types.NamespacedName{Name: Namespace}, &namespace)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("still there: %v", namespace.Status.Conditions)
	})
}

// DeleteGroupRoles deletes the ClusterRoles of the OperatorGroup. Sometimes OLM 0.46 recreates them while they are deleted with it.
func (c *Cluster) DeleteGroupRoles(ctx context.Context) error {
	return c.Delete(ctx, "clusterroles", "-l", "olm.owner.kind=OperatorGroup,olm.owner="+Package+",olm.owner.namespace="+Namespace)
}

// deleteVersions deletes every Subscription and every version in the namespace of the operator.
func (c *Cluster) deleteVersions(ctx context.Context) error {
	for _, kind := range []string{"subscriptions.operators.coreos.com", "clusterserviceversions"} {
		if err := c.Delete(ctx, kind, "--all", "-n", Namespace, "--timeout=60s"); err != nil {
			return err
		}
	}
	return nil
}

// DeleteResources deletes every application and cache of the cluster, and waits until what they own is gone.
func (c *Cluster) DeleteResources(ctx context.Context) error {
	for _, kind := range []string{ApplicationCRD, MemcachedCRD} {
		if err := c.Delete(ctx, kind, "--all", "--all-namespaces", "--cascade=foreground", "--timeout=3m"); err != nil {
			return err
		}
	}
	return nil
}

// DeleteDefinitions deletes the CRDs of the operator.
func (c *Cluster) DeleteDefinitions(ctx context.Context) error {
	return c.Delete(ctx, "crd", ApplicationCRD, MemcachedCRD, "--timeout=60s")
}

// DeleteLeftovers deletes the Leftovers.
func (c *Cluster) DeleteLeftovers(ctx context.Context) error {
	for _, line := range Leftovers {
		if err := c.Delete(ctx, strings.Replace(line, " ", "/", 1)); err != nil {
			return err
		}
	}
	return nil
}
