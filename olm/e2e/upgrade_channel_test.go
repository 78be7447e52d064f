//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/example/memcached-operator/olm/e2e/upgrades"
	"github.com/example/memcached-operator/olm/walk"
)

// walkFromDeprecatedHead takes the route to the head. There the catalog deprecates the head, which the Subscription says and
// nobody else notices. Users then switch to the last of the route's channels and take two made-up releases.
//
// OLM sometimes finds no upgrade right after another one, because the old version is not deleted yet, and does not look again
// (walk.WaitPlan has the details). Here the old version stays long enough for that to happen always.
func walkFromDeprecatedHead(t *testing.T, r upgrades.Route) []upgrades.Step {
	const source, message = "memcached-operator-deprecated", "update to a newer release: this one was made up to be deprecated"
	ctx, head := t.Context(), walk.CSVName(suite.version)
	u, steps := takeRoute(t, r, newTenants(t)) // Tenants take this upgrade in TestUpgradesOneByOneUnderAdmissionPolicies.
	catalog, next := publishNext(t, "deprecated", 2, upgrades.Deprecate(head, message))
	must(t, suite.cluster.AddCatalog(ctx, source, catalog))
	must(t, suite.cluster.SetSource(ctx, source))
	waitCondition(ctx, t, operatorsv1alpha1.SubscriptionBundleDeprecated, func(c operatorsv1alpha1.SubscriptionCondition) bool {
		return c.Status == corev1.ConditionTrue && c.Message == "olm.bundle/"+head+": "+message
	})
	u.untouched("a deprecation")

	must(t, suite.cluster.SetChannel(ctx, r.Channels[len(r.Channels)-1]))
	keepVersion(ctx, t, suite.version)
	steps = append(steps, u.upgradeUntil(next[0], suite.cluster.WaitInstalled))
	waitCondition(ctx, t, operatorsv1alpha1.SubscriptionResolutionFailed, func(c operatorsv1alpha1.SubscriptionCondition) bool {
		return c.Status == corev1.ConditionTrue && c.Reason == "ConstraintsNotSatisfiable" && strings.Contains(c.Message, head)
	})
	must(t, walk.Within(ctx, time.Minute, "OLM to delete the old version", func(ctx context.Context) error {
		var csv operatorsv1alpha1.ClusterServiceVersion
		err := suite.cluster.Client.Get(ctx, types.NamespacedName{Namespace: walk.Namespace, Name: head}, &csv)
		if err == nil && csv.DeletionTimestamp == nil {
			err = fmt.Errorf("it is %s", csv.Status.Phase)
		}
		return err
	}))
	must(t, letVersionsGo(ctx))
	must(t, suite.cluster.WaitOnly(ctx, next[0].To, time.Minute))

	_, err := suite.cluster.WaitPlan(ctx, next[1].To, 3*time.Minute)
	must(t, err)
	waitCondition(ctx, t, operatorsv1alpha1.SubscriptionBundleDeprecated, func(c operatorsv1alpha1.SubscriptionCondition) bool {
		return c.Status != corev1.ConditionTrue
	})
	return append(steps, u.upgrade(next[1]))
}

// waitCondition waits until a condition of the Subscription is as expected. A condition that is absent has no status.
func waitCondition(ctx context.Context, t *testing.T, kind operatorsv1alpha1.SubscriptionConditionType, expected func(operatorsv1alpha1.SubscriptionCondition) bool) {
	t.Helper()
	must(t, walk.Within(ctx, 2*time.Minute, fmt.Sprintf("the Subscription's condition %s to be as expected", kind), func(ctx context.Context) error {
		var sub operatorsv1alpha1.Subscription
		if err := suite.cluster.Client.Get(ctx, types.NamespacedName{Namespace: walk.Namespace, Name: walk.Package}, &sub); err != nil {
			return err
		}
		if condition := sub.Status.GetCondition(kind); !expected(condition) {
			return fmt.Errorf("it is %q: %s: %s", condition.Status, condition.Reason, condition.Message)
		}
		return nil
	}))
}

// kept is the finalizer of a ClusterServiceVersion that a test keeps.
const kept = "example.com/kept"

// keepVersion keeps the ClusterServiceVersion of a version, should somebody delete it, until letVersionsGo.
func keepVersion(ctx context.Context, t *testing.T, version string) {
	t.Helper()
	must(t, finalize(ctx, walk.CSVName(version), controllerutil.AddFinalizer))
}

// letVersionsGo ends what keepVersion did, in this run or in one that was killed.
func letVersionsGo(ctx context.Context) error {
	csvs, err := suite.cluster.Versions(ctx)
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil // There is no OLM.
	}
	for _, csv := range csvs {
		err = errors.Join(err, finalize(ctx, csv.Name, controllerutil.RemoveFinalizer))
	}
	return err
}

// finalize changes whether a ClusterServiceVersion, if it is there, has the finalizer.
func finalize(ctx context.Context, name string, change func(client.Object, string) bool) error {
	return walk.Within(ctx, 30*time.Second, "change the finalizers of "+name, func(ctx context.Context) error {
		var csv operatorsv1alpha1.ClusterServiceVersion
		if err := suite.cluster.Client.Get(ctx, types.NamespacedName{Namespace: walk.Namespace, Name: name}, &csv); err != nil {
			return client.IgnoreNotFound(err)
		}
		before := csv.DeepCopy()
		if !change(&csv, kept) {
			return nil
		}
		return suite.cluster.Client.Patch(ctx, &csv, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
}
