//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/memcached-operator/olm/e2e/upgrades"
	"github.com/example/memcached-operator/olm/walk"
)

// A release whose operator does not start harms nobody, and there are two ways out: back to
// the release before, and on to a release that mends it.
func TestBrokenReleaseIsSurvived(t *testing.T) {
	at := suite.version
	broken, brokenCatalog, mended, mendedCatalog := brokenReleases(t)
	ctx := withoutOperator(t)
	choose(ctx, t, walk.Choice{Version: at, Channel: "candidate"})
	const brokenSource, mendedSource = "memcached-operator-broken", "memcached-operator-mended"
	must(t, suite.cluster.AddCatalog(ctx, brokenSource, brokenCatalog))
	must(t, suite.cluster.AddCatalog(ctx, mendedSource, mendedCatalog))
	u := newUsers(t, at)

	must(t, suite.cluster.SetSource(ctx, brokenSource))
	failToUpgrade(ctx, t, broken)
	t.Run("the release before goes on working meanwhile", func(t *testing.T) { newCacheIsReady(ctx, t) })
	u.untouched("an upgrade to a release that does not start")

	// The catalog still offers the broken release; with manual approval it stays an offer.
	must(t, suite.cluster.Withdraw(ctx))
	must(t, suite.cluster.Subscribe(ctx, suite.manifests, walk.Choice{Version: at, Channel: "candidate", Source: brokenSource}))
	approve(ctx, t, at)
	must(t, suite.cluster.WaitOnly(ctx, at, 3*time.Minute))
	u.lookedAfter(at)
	u.untouched("the way back to " + at)

	failToUpgrade(ctx, t, broken)
	must(t, suite.cluster.SetUpgradeStrategy(ctx, operatorsv1.UpgradeStrategyUnsafeFailForward))
	t.Cleanup(func() {
		must(t, suite.cluster.SetUpgradeStrategy(context.Background(), operatorsv1.UpgradeStrategyDefault))
	})
	must(t, suite.cluster.SetSource(ctx, mendedSource))
	approve(ctx, t, mended)
	must(t, suite.cluster.WaitOnly(ctx, mended, 3*time.Minute))
	u.lookedAfter(mended)
	u.untouched("the way on to the release that mends it")
}

// brokenReleases makes up a release that does not start, and one that mends it and skips it.
func brokenReleases(t *testing.T) (broken, brokenCatalog, mended, mendedCatalog string) {
	t.Helper()
	ctx := t.Context()
	var err error
	broken, err = suite.stage.After(1)
	must(t, err)
	mended, err = suite.stage.After(2)
	must(t, err)
	bad, err := suite.stage.Release(ctx, broken, func(csv *operatorsv1alpha1.ClusterServiceVersion) {
		deployment := &csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec
		manager := &deployment.Template.Spec.Containers[0]
		manager.Args = append(manager.Args, "--of-another-release")
		// OLM itself would give up after five minutes. Kubernetes measures the time from the last progress that it has
		// noted. That one pod of the old template became one of the new it can miss, and then it waits for ever; that
		// there are two now it cannot. While the rollout is stuck, the second one is of the old template.
		deployment.ProgressDeadlineSeconds = new(int32(20))
		deployment.Replicas = new(int32(brokenReplicas))
	})
	must(t, err)
	good, err := suite.stage.Release(ctx, mended, nil)
	must(t, err)
	brokenCatalog, err = suite.stage.Publish(ctx, "broken", upgrades.Head(bad))
	must(t, err)
	mendedCatalog, err = suite.stage.Publish(ctx, "mended", upgrades.Head(bad), upgrades.Head(good, bad.Name))
	must(t, err)
	return broken, brokenCatalog, mended, mendedCatalog
}

// brokenReplicas is how many pods the broken release asks for.
const brokenReplicas = 2

// failToUpgrade approves an upgrade to a release that does not start, and waits until it has failed for good and OLM says so.
func failToUpgrade(ctx context.Context, t *testing.T, broken string) {
	t.Helper()
	approve(ctx, t, broken)
	must(t, walk.Within(ctx, 2*time.Minute, "the rollout of "+broken+" to be stuck", stuck))
	_, err := suite.cluster.WaitPhase(ctx, broken, operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonInstallCheckFailed, time.Minute)
	must(t, err)
}

// stuck says whether the operator's Deployment missed its deadline after the last progress that it can make: its pods of the
// old template are ready. A deadline missed before that ends with that progress, and OLM then installs the release again.
func stuck(ctx context.Context) error {
	var deployment appsv1.Deployment
	if err := suite.cluster.Client.Get(ctx, types.NamespacedName{Namespace: walk.Namespace, Name: walk.Package + "-controller-manager"}, &deployment); err != nil {
		return err
	}
	if available := deployment.Status.AvailableReplicas; available != brokenReplicas {
		return fmt.Errorf("%d of %d pods are ready", available, brokenReplicas)
	}
	for _, c := range deployment.Status.Conditions {
		if c.Type == appsv1.DeploymentProgressing && c.Reason == "ProgressDeadlineExceeded" {
			return nil
		}
	}
	return fmt.Errorf("within its deadline: %v", deployment.Status.Conditions)
}
