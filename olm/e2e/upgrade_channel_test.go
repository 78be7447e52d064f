//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/memcached-operator/olm/e2e/upgrades"
	"github.com/example/memcached-operator/olm/walk"
)

// Somebody who has a release that the catalog deprecates is told so, and that is all; and
// who follows candidate may go over to fast.
func TestDeprecatedReleaseAndAnotherChannel(t *testing.T) {
	from, _ := upgradeToTest(t)
	ctx := fresh(t)
	message := "update to a newer release: this one was made up to be deprecated"
	catalog, err := suite.stage.Publish(ctx, "deprecated", upgrades.Deprecate(walk.CSVName(from), message))
	must(t, err)
	choose(ctx, t, walk.Choice{Version: from, Channel: "candidate"})
	const source = "memcached-operator-deprecated"
	must(t, suite.cluster.AddCatalog(ctx, source, catalog))
	u := newUsers(t, from)
	must(t, suite.cluster.SetSource(ctx, source))
	waitSubscription(ctx, t, "to say that the release is deprecated", func(sub *operatorsv1alpha1.Subscription) error {
		condition := sub.Status.GetCondition(operatorsv1alpha1.SubscriptionBundleDeprecated)
		if condition.Status != corev1.ConditionTrue || condition.Message != "olm.bundle/"+walk.CSVName(from)+": "+message {
			return fmt.Errorf("condition %s is %q: %q", operatorsv1alpha1.SubscriptionBundleDeprecated, condition.Status, condition.Message)
		}
		return nil
	})
	u.untouched("a deprecation")

	must(t, suite.cluster.SetChannel(ctx, "fast"))
	head := headOf(t, "fast")
	approve(ctx, t, head)
	must(t, suite.cluster.WaitOnly(ctx, head, 3*time.Minute))
	waitSubscription(ctx, t, "to call nothing deprecated any more", func(sub *operatorsv1alpha1.Subscription) error {
		condition := sub.Status.GetCondition(operatorsv1alpha1.SubscriptionBundleDeprecated)
		if condition.Status == corev1.ConditionTrue {
			return fmt.Errorf("it says %q", condition.Message)
		}
		return nil
	})
	u.lookedAfter(head)
	u.untouched("another channel")
}

// headOf is the version that a channel leads to.
func headOf(t *testing.T, channel string) string {
	t.Helper()
	offered, err := suite.stage.Graph(t.Context())
	must(t, err)
	for _, c := range offered.Channels {
		if c.Name == channel {
			return c.Heads()[0].Version.String()
		}
	}
	t.Fatalf("the catalog has no channel %s", channel)
	return ""
}

func waitSubscription(ctx context.Context, t *testing.T, what string, check func(*operatorsv1alpha1.Subscription) error) {
	t.Helper()
	must(t, walk.Within(ctx, 2*time.Minute, "the Subscription "+what, func(ctx context.Context) error {
		var sub operatorsv1alpha1.Subscription
		if err := suite.cluster.Client.Get(ctx, types.NamespacedName{Namespace: walk.Namespace, Name: walk.Package}, &sub); err != nil {
			return err
		}
		return check(&sub)
	}))
}
