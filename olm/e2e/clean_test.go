//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/olm/walk"
)

// fresh gives a test a cluster without the operator and its catalogs, and removes what the test left at its end. If the test
// failed, it first prints the state of the cluster.
func fresh(t *testing.T) context.Context {
	t.Helper()
	return clean(t, removeAll, nothing)
}

// withoutOperator is like fresh, but keeps the namespace of the operator and the catalogs of several tests from one test to the
// next, so that not every test waits for them.
func withoutOperator(t *testing.T) context.Context {
	t.Helper()
	return clean(t, removeOperator, catalogs)
}

func clean(t *testing.T, remove func(context.Context) error, leaves leftover) context.Context {
	t.Helper()
	ctx := t.Context()
	if suite.left > leaves {
		must(t, removeAll(ctx))
	}
	suite.left = unknown
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
		defer cancel()
		if t.Failed() {
			t.Log(suite.cluster.Diagnose(ctx))
			remove, leaves = removeAll, nothing
		}
		if err := remove(ctx); err != nil {
			t.Errorf("remove the operator: %v", err)
			return
		}
		suite.left = leaves
	})
	return ctx
}

// leftover is what tests left on the cluster. Each value includes the previous ones.
type leftover int

const (
	nothing leftover = iota
	catalogs
	unknown
)

// removeAll removes the operator, what it created, its namespace and its catalogs.
func removeAll(ctx context.Context) error {
	err := errors.Join(allowReports(ctx), letVersionsGo(ctx), deleteOperands(ctx), suite.cluster.Uninstall(ctx, suite.manifests))
	if err == nil {
		suite.left = nothing
	}
	return err
}

// removeOperator removes the operator and what it created.
func removeOperator(ctx context.Context) error {
	steps := []func(context.Context) error{
		letVersionsGo, deleteOperands, withdraw, suite.cluster.DeleteDefinitions, suite.cluster.DeleteLeftovers, deleteCatalogs, deleteEvents,
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// withdraw removes the operator from OLM v0. Resources and their CRDs stay.
func withdraw(ctx context.Context) error {
	return errors.Join(suite.cluster.Withdraw(ctx), deleteLease(ctx))
}

// removeExtension removes the operator from OLM v1. Resources and their CRDs stay.
func removeExtension(ctx context.Context) error {
	return errors.Join(suite.cluster.RemoveExtension(ctx), deleteLease(ctx))
}

// deleteLease deletes the Lease of an operator that was removed. It lost its rights before it could release it, and the next one would wait
// until it expires, after 15 seconds.
func deleteLease(ctx context.Context) error {
	return suite.cluster.Delete(ctx, "leases", "--all", "-n", walk.Namespace)
}

// deleteCatalogs deletes the CatalogSources of single tests. The kubelet runs two probes in each of their pods every ten seconds.
func deleteCatalogs(ctx context.Context) error {
	var sources operatorsv1alpha1.CatalogSourceList
	if err := suite.cluster.Client.List(ctx, &sources, client.InNamespace(walk.Namespace)); err != nil {
		return err
	}
	for i := range sources.Items {
		if source := &sources.Items[i]; !slices.Contains([]string{walk.Package, nextSource, stepwiseSource}, source.Name) {
			if err := client.IgnoreNotFound(suite.cluster.Client.Delete(ctx, source)); err != nil {
				return err
			}
		}
	}
	return nil
}

// deleteEvents deletes the events in the namespace of the operator. OLM reads all of them whenever it looks at a version (OLM 0.46,
// getCopiedCSVDisabledEventsForCSV), up to 70 times a second during an upgrade. After an hour of tests each read took it 150 ms instead of 5.
func deleteEvents(ctx context.Context) error {
	return suite.cluster.Client.DeleteAllOf(ctx, &corev1.Event{}, client.InNamespace(walk.Namespace))
}

// deleteOperands deletes all applications and caches, and what they own. DeleteResources leaves the latter to Kubernetes' garbage collector,
// which does not see kinds whose CRDs were deleted and created again for up to a minute (Kubernetes 1.36). It always sees Deployments.
func deleteOperands(ctx context.Context) error {
	for _, kind := range []string{walk.ApplicationCRD, walk.MemcachedCRD} {
		if err := suite.cluster.Delete(ctx, kind, "--all", "--all-namespaces", "--timeout=60s"); err != nil {
			return err
		}
	}
	const managed = "app.kubernetes.io/managed-by"
	const owned = "deployments,statefulsets,controllerrevisions,services,secrets,ingresses,networkpolicies,poddisruptionbudgets"
	// kubectl would wait for one object after the other.
	if err := suite.cluster.Delete(ctx, owned, "--all-namespaces", "-l", managed+"="+walk.Package, "--wait=false"); err != nil {
		return err
	}
	return walk.Within(ctx, 3*time.Minute, "the pods of caches and applications to go", func(ctx context.Context) error {
		labels := client.MatchingLabels{managed: walk.Package}
		var sets appsv1.ReplicaSetList
		var pods corev1.PodList
		if err := errors.Join(suite.cluster.Client.List(ctx, &sets, labels), suite.cluster.Client.List(ctx, &pods, labels)); err != nil {
			return err
		}
		if len(sets.Items)+len(pods.Items) > 0 {
			return fmt.Errorf("%d ReplicaSets and %d pods are left", len(sets.Items), len(pods.Items))
		}
		return nil
	})
}
