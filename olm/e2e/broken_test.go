//go:build e2e

package e2e

import (
	"context"
	"testing"
	"time"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/example/memcached-operator/olm/e2e/fixture"
	"github.com/example/memcached-operator/olm/walk"
)

// A release whose operator does not start harms nobody, and there are two ways out: back to
// the release before, and on to a release that mends it.
func TestBrokenReleaseIsSurvived(t *testing.T) {
	at := suite.version
	broken, brokenCatalog, mended, mendedCatalog := brokenReleases(t)
	ctx := fresh(t)
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
		deployment.ProgressDeadlineSeconds = new(int32(5)) // OLM itself would give up after five minutes.
		// Kubernetes measures the time from the last progress that it has noted. That one pod of the old template became
		// one of the new it can miss, and then it waits for ever; that there are two now it cannot.
		deployment.Replicas = new(int32(2))
	})
	must(t, err)
	good, err := suite.stage.Release(ctx, mended, nil)
	must(t, err)
	brokenCatalog, err = suite.stage.Publish(ctx, "broken", fixture.Head(bad))
	must(t, err)
	mendedCatalog, err = suite.stage.Publish(ctx, "mended", fixture.Head(bad), fixture.Head(good, bad.Name))
	must(t, err)
	return broken, brokenCatalog, mended, mendedCatalog
}

// failToUpgrade approves an upgrade to a release that does not start, and waits until OLM
// says so, which it does as soon as Kubernetes does.
func failToUpgrade(ctx context.Context, t *testing.T, broken string) {
	t.Helper()
	approve(ctx, t, broken)
	_, err := suite.cluster.WaitPhase(ctx, broken, operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonInstallCheckFailed, 2*time.Minute)
	must(t, err)
}
