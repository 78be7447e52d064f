//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
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

	letGo := keepVersion(ctx, t, from)
	approve(ctx, t, to)
	must(t, suite.cluster.WaitInstalled(ctx, to, 3*time.Minute))
	waitSubscription(ctx, t, "to find nothing to go on to", func(sub *operatorsv1alpha1.Subscription) error {
		condition := sub.Status.GetCondition(operatorsv1alpha1.SubscriptionResolutionFailed)
		if condition.Status != corev1.ConditionTrue || condition.Reason != "ConstraintsNotSatisfiable" || !strings.Contains(condition.Message, walk.CSVName(from)) {
			return fmt.Errorf("condition %s is %q: %s: %s", condition.Type, condition.Status, condition.Reason, condition.Message)
		}
		return nil
	})
	letGo(ctx)
	must(t, suite.cluster.WaitOnly(ctx, to, time.Minute))

	approve(ctx, t, next.version)
	must(t, suite.cluster.WaitOnly(ctx, next.version, 3*time.Minute))
}

// keepVersion keeps the ClusterServiceVersion of a version, should somebody delete it, until it is let go.
func keepVersion(ctx context.Context, t *testing.T, version string) (letGo func(context.Context)) {
	t.Helper()
	const finalizer = "example.com/kept"
	change := func(ctx context.Context, how func(client.Object, string) bool) {
		t.Helper()
		must(t, walk.Within(ctx, 30*time.Second, "change the finalizers of "+walk.CSVName(version), func(ctx context.Context) error {
			var csv operatorsv1alpha1.ClusterServiceVersion
			if err := suite.cluster.Client.Get(ctx, types.NamespacedName{Namespace: walk.Namespace, Name: walk.CSVName(version)}, &csv); err != nil {
				return client.IgnoreNotFound(err)
			}
			before := csv.DeepCopy()
			how(&csv, finalizer)
			return suite.cluster.Client.Patch(ctx, &csv, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		}))
	}
	letGo = func(ctx context.Context) { t.Helper(); change(ctx, controllerutil.RemoveFinalizer) }
	change(ctx, controllerutil.AddFinalizer)
	t.Cleanup(func() { letGo(context.Background()) })
	return letGo
}
