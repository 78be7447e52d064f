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

// walkFromDeprecated takes the newest upgrade. Who has a release that the catalog deprecates is told so, and that is all; and who
// follows candidate may go over to fast.
//
// An upgrade that ends leaves OLM, now and then, with what it found half way: that there is nothing to go on to. Who touches
// the Subscription then is offered the next one. Here the old version stays long enough for that to happen always.
func walkFromDeprecated(t *testing.T, r upgrades.Route) []upgrades.Step {
	const source, message = "memcached-operator-deprecated", "update to a newer release: this one was made up to be deprecated"
	ctx := withoutOperator(t)
	from := r.Start.Version.String()
	next := nextRelease(t, "deprecated", upgrades.Deprecate(walk.CSVName(from), message))
	choose(ctx, t, walk.Choice{Version: from, Channel: "candidate"})
	must(t, suite.cluster.AddCatalog(ctx, source, next.catalog))
	u := newUsers(t, from)
	must(t, suite.cluster.SetSource(ctx, source))
	waitCondition(ctx, t, operatorsv1alpha1.SubscriptionBundleDeprecated, true, "", "olm.bundle/"+walk.CSVName(from)+": "+message)
	u.untouched("a deprecation")

	must(t, suite.cluster.SetChannel(ctx, "fast"))
	keepVersion(ctx, t, from)
	first := u.upgradeUntil(stepOf(r.Steps[0]), suite.cluster.WaitInstalled)
	waitCondition(ctx, t, operatorsv1alpha1.SubscriptionResolutionFailed, true, "ConstraintsNotSatisfiable", walk.CSVName(from))
	must(t, walk.Within(ctx, time.Minute, "OLM to delete the old version", func(ctx context.Context) error {
		var csv operatorsv1alpha1.ClusterServiceVersion
		err := suite.cluster.Client.Get(ctx, types.NamespacedName{Namespace: walk.Namespace, Name: walk.CSVName(from)}, &csv)
		if err == nil && csv.DeletionTimestamp == nil {
			err = fmt.Errorf("it is %s", csv.Status.Phase)
		}
		return err
	}))
	must(t, letVersionsGo(ctx))
	must(t, suite.cluster.WaitOnly(ctx, first.To, time.Minute))

	_, err := suite.cluster.WaitPlan(ctx, next.version, 3*time.Minute)
	must(t, err)
	waitCondition(ctx, t, operatorsv1alpha1.SubscriptionBundleDeprecated, false, "", "")
	return []upgrades.Step{first, u.upgrade(next.step(first.To))}
}

// waitCondition waits until a condition of the Subscription is True, or is not; if it is to be True, for this reason unless that is
// empty, and with this part in its message.
func waitCondition(ctx context.Context, t *testing.T, kind operatorsv1alpha1.SubscriptionConditionType, want bool, reason, part string) {
	t.Helper()
	must(t, walk.Within(ctx, 2*time.Minute, fmt.Sprintf("the Subscription's condition %s to be True: %t", kind, want), func(ctx context.Context) error {
		var sub operatorsv1alpha1.Subscription
		if err := suite.cluster.Client.Get(ctx, types.NamespacedName{Namespace: walk.Namespace, Name: walk.Package}, &sub); err != nil {
			return err
		}
		condition := sub.Status.GetCondition(kind)
		asExpected := (reason == "" || condition.Reason == reason) && strings.Contains(condition.Message, part)
		if is := condition.Status == corev1.ConditionTrue; is != want || want && !asExpected {
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
