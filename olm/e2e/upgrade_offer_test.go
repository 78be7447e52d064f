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

	"github.com/example/memcached-operator/olm/walk"
)

// An upgrade that ends leaves OLM, now and then, with what it found half way: that there is nothing to go on to. Who
// touches the Subscription then is offered the next one. Here the old version stays long enough for that to happen always.
func TestAnUpgradeIsOfferedRightAfterAnother(t *testing.T) {
	from, to := upgradeToTest(t)
	next := nextRelease(t)
	ctx := fresh(t)
	choose(ctx, t, walk.Choice{Version: from, Channel: "candidate"})
	must(t, suite.cluster.AddCatalog(ctx, nextSource, next.catalog))
	must(t, suite.cluster.SetSource(ctx, nextSource))

	keepVersion(ctx, t, from)
	approve(ctx, t, to)
	must(t, suite.cluster.WaitInstalled(ctx, to, 3*time.Minute))
	waitSubscription(ctx, t, "to find nothing to go on to", func(sub *operatorsv1alpha1.Subscription) error {
		condition := sub.Status.GetCondition(operatorsv1alpha1.SubscriptionResolutionFailed)
		if condition.Status != corev1.ConditionTrue || condition.Reason != "ConstraintsNotSatisfiable" || !strings.Contains(condition.Message, walk.CSVName(from)) {
			return fmt.Errorf("condition %s is %q: %s: %s", condition.Type, condition.Status, condition.Reason, condition.Message)
		}
		return nil
	})
	must(t, walk.Within(ctx, time.Minute, "OLM to take the old version away", func(ctx context.Context) error {
		var csv operatorsv1alpha1.ClusterServiceVersion
		err := suite.cluster.Client.Get(ctx, types.NamespacedName{Namespace: walk.Namespace, Name: walk.CSVName(from)}, &csv)
		if err == nil && csv.DeletionTimestamp == nil {
			err = fmt.Errorf("it is %s", csv.Status.Phase)
		}
		return err
	}))
	must(t, letVersionsGo(ctx))
	must(t, suite.cluster.WaitOnly(ctx, to, time.Minute))

	approve(ctx, t, next.version)
	must(t, suite.cluster.WaitOnly(ctx, next.version, 3*time.Minute))
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
