package walk

import (
	"context"
	"fmt"
	"path/filepath"
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
	// Namespace is where the manifests in olm/ install the operator.
	Namespace = "memcached-operator-system"
	// Package is the operator's name in the catalog, and the name of its Subscription.
	Package = "memcached-operator"
	// MemcachedCRD is the name of the CRD of the Memcached kind.
	MemcachedCRD = "memcacheds.cache.example.com"
	// ApplicationCRD is the name of the CRD of the Application kind, which there is from version 0.2.0 on.
	ApplicationCRD = "applications.app.example.com"
)

// Leftovers is what OLM leaves on the cluster when the Subscription, the versions, the
// resources, their definitions and the manifests are deleted: roles for people, which came
// with the bundle, and OLM's own note that there was such an operator. The lines are those
// of Inventory. None of it does anything.
var Leftovers = []string{
	"clusterroles.rbac.authorization.k8s.io memcached-operator-application-editor-role",
	"clusterroles.rbac.authorization.k8s.io memcached-operator-application-viewer-role",
	"clusterroles.rbac.authorization.k8s.io memcached-operator-memcached-editor-role",
	"clusterroles.rbac.authorization.k8s.io memcached-operator-memcached-viewer-role",
	"clusterroles.rbac.authorization.k8s.io memcached-operator-metrics-reader",
	"operators.operators.coreos.com " + Package + "." + Namespace,
}

// Install applies every manifest of the folder, as `kubectl apply -f olm/` does; the
// Subscription last, when the catalog is served. For one that was deleted a short time ago
// under this name, OLM would still decide by what it remembers of it.
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

// manifests are the file of the Subscription, and the others in the folder.
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

// WaitInstalled waits until the Subscription has installed the CSV of this version
// (without the leading v) and OLM reports it Succeeded.
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
		return c.csvSucceeded(ctx, Namespace, name)
	})
}

// CSVName is the name of the ClusterServiceVersion of a version of this operator.
func CSVName(version string) string {
	return Package + ".v" + version
}

func (c *Cluster) csvSucceeded(ctx context.Context, namespace, name string) error {
	var csv operatorsv1alpha1.ClusterServiceVersion
	if err := c.Client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &csv); err != nil {
		return err
	}
	if csv.Status.Phase != operatorsv1alpha1.CSVPhaseSucceeded {
		return fmt.Errorf("csv %s is %s: %s: %s", name, csv.Status.Phase, csv.Status.Reason, csv.Status.Message)
	}
	return nil
}

// failing lists the Subscription's conditions that say what keeps it from installing.
func failing(conditions []operatorsv1alpha1.SubscriptionCondition) string {
	out := "no failing condition"
	for _, cond := range conditions {
		if cond.Status == corev1.ConditionTrue && cond.Message != "" {
			out = fmt.Sprintf("%s: %s", cond.Type, cond.Message)
		}
	}
	return out
}

// InUse names the caches, the applications and the installed versions of the operator that
// are on the cluster. It is empty on a cluster that knows none of these kinds.
func (c *Cluster) InUse(ctx context.Context) ([]string, error) {
	var used []string
	for what, kind := range map[string]schema.GroupVersionKind{
		"cache":       {Group: "cache.example.com", Version: "v1alpha1", Kind: "MemcachedList"},
		"application": {Group: "app.example.com", Version: "v1alpha1", Kind: "ApplicationList"},
	} {
		objects := &metav1.PartialObjectMetadataList{}
		objects.SetGroupVersionKind(kind)
		if err := c.Client.List(ctx, objects); err != nil && !meta.IsNoMatchError(err) {
			return nil, fmt.Errorf("look for what the operator looks after: %w", err)
		}
		for _, object := range objects.Items {
			used = append(used, fmt.Sprintf("%s %s/%s", what, object.Namespace, object.Name))
		}
	}
	var csvs operatorsv1alpha1.ClusterServiceVersionList
	if err := c.Client.List(ctx, &csvs); err != nil && !meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("look for installed operators: %w", err)
	}
	for _, csv := range csvs.Items {
		// OLM copies a CSV that serves all namespaces into each of them.
		if strings.HasPrefix(csv.Name, Package+".") && !csv.IsCopied() {
			used = append(used, fmt.Sprintf("operator %s/%s", csv.Namespace, csv.Name))
		}
	}
	slices.Sort(used)
	return used, nil
}

// Delete runs kubectl delete with args. What is not there, objects or their whole kind, is
// no error.
func (c *Cluster) Delete(ctx context.Context, args ...string) error {
	_, err := c.Kubectl(ctx, slices.Concat([]string{"delete", "--ignore-not-found"}, args)...)
	if err != nil && isGone(err) {
		return nil
	}
	return err
}

// isGone reports whether kubectl failed only because the kind itself is not, or no
// longer, on the cluster.
func isGone(err error) bool {
	text := err.Error()
	return strings.Contains(text, "the server doesn't have a resource type") || strings.Contains(text, "no matches for kind")
}

// Uninstall takes away what Install and the operator brought, in the order that the
// README gives: applications and caches, Subscription, CSVs, then the rest of the folder,
// the CRDs and what OLM leaves. The resources go first, and with what they own: once their
// kind is gone, Kubernetes' garbage collector cannot look up the owner of what is left.
// What is not there is no error.
func (c *Cluster) Uninstall(ctx context.Context, folder string) error {
	if err := c.DeleteResources(ctx); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"subscriptions.operators.coreos.com", "--all", "-n", Namespace},
		{"clusterserviceversions", "--all", "-n", Namespace, "--timeout=60s"},
		{"-f", folder, "--timeout=120s"},
	} {
		if err := c.Delete(ctx, args...); err != nil {
			return err
		}
	}
	if err := c.DeleteDefinitions(ctx); err != nil {
		return err
	}
	if err := c.DeleteLeftovers(ctx); err != nil {
		return err
	}
	// Now and then OLM makes the roles of the OperatorGroup anew in the moment in which they are deleted with it (OLM 0.46).
	if err := c.Delete(ctx, "clusterroles", "-l", "olm.owner.kind=OperatorGroup,olm.owner="+Package+",olm.owner.namespace="+Namespace); err != nil {
		return err
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

// DeleteResources deletes every application and cache of the cluster, and waits until what
// they own is gone.
func (c *Cluster) DeleteResources(ctx context.Context) error {
	for _, kind := range []string{ApplicationCRD, MemcachedCRD} {
		if err := c.Delete(ctx, kind, "--all", "--all-namespaces", "--cascade=foreground", "--timeout=60s"); err != nil {
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
	names := map[string][]string{}
	for _, line := range Leftovers {
		kind, name, _ := strings.Cut(line, " ")
		names[kind] = append(names[kind], name)
	}
	for kind, names := range names {
		if err := c.Delete(ctx, append([]string{kind}, names...)...); err != nil {
			return err
		}
	}
	return nil
}
