package walk

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
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
)

// Install applies every manifest of the folder, as `kubectl apply -f olm/` does.
func (c *Cluster) Install(ctx context.Context, folder string) error {
	err := c.Client.List(ctx, &operatorsv1alpha1.CatalogSourceList{}, client.Limit(1))
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("the cluster at %s has no OLM: install it with `operator-sdk olm install`", c.Config.Host)
	}
	if err != nil {
		return fmt.Errorf("look for OLM: %w", err)
	}
	_, err = c.Kubectl(ctx, "apply", "-f", folder)
	return err
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
// README gives: caches, Subscription, CSVs, then the rest of the folder and the CRD. The
// caches go first, and with what they own: once their kind is gone, Kubernetes' garbage
// collector cannot look up the owner of what is left.
// What is not there is no error.
func (c *Cluster) Uninstall(ctx context.Context, folder string) error {
	for _, args := range [][]string{
		{"memcacheds", "--all", "--all-namespaces", "--cascade=foreground", "--timeout=60s"},
		{"subscriptions.operators.coreos.com", "--all", "-n", Namespace},
		{"clusterserviceversions", "--all", "-n", Namespace, "--timeout=60s"},
		{"-f", folder, "--timeout=120s"},
		{"crd", MemcachedCRD, "--timeout=60s"},
	} {
		if err := c.Delete(ctx, args...); err != nil {
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
