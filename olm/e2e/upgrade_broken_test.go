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

// A release whose operator does not start disturbs no user. There are two ways out: back to the previous release, and on to a
// release that fixes the problem.
func TestBrokenReleaseIsSurvived(t *testing.T) {
	at := suite.version
	broken, brokenCatalog, fixed, fixedCatalog := brokenReleases(t)
	ctx := withoutOperator(t)
	choose(ctx, t, walk.Choice{Version: at, Channel: "candidate"})
	const brokenSource, fixedSource = "memcached-operator-broken", "memcached-operator-fixed"
	must(t, suite.cluster.AddCatalog(ctx, brokenSource, brokenCatalog))
	must(t, suite.cluster.AddCatalog(ctx, fixedSource, fixedCatalog))
	u := newUsers(t, at)

	must(t, suite.cluster.SetSource(ctx, brokenSource))
	failToUpgrade(ctx, t, broken)
	t.Run("the previous release works meanwhile", func(t *testing.T) { newCacheIsReady(ctx, t) })
	u.untouched("an upgrade to a release that does not start")

	// The catalog still has the broken release. With manual approval, OLM does not install it.
	must(t, withdraw(ctx))
	must(t, suite.cluster.Subscribe(ctx, suite.manifests, walk.Choice{Version: at, Channel: "candidate", Source: brokenSource}))
	approve(ctx, t, at)
	must(t, suite.cluster.WaitOnly(ctx, at, 3*time.Minute))
	u.lookedAfter(at)
	u.untouched("the way back to " + at)

	failToUpgrade(ctx, t, broken)
	administrator{newShell(t)}.runs("a-release-that-does-not-start", "UnsafeFailForward")
	t.Cleanup(func() {
		must(t, suite.cluster.SetUpgradeStrategy(context.Background(), operatorsv1.UpgradeStrategyDefault))
	})
	must(t, suite.cluster.SetSource(ctx, fixedSource))
	approve(ctx, t, fixed)
	must(t, suite.cluster.WaitOnly(ctx, fixed, 3*time.Minute))
	u.lookedAfter(fixed)
	u.untouched("the upgrade to the release that fixes it")
}

// brokenReleases creates a release that does not start, and one that fixes and skips it.
func brokenReleases(t *testing.T) (broken, brokenCatalog, fixed, fixedCatalog string) {
	t.Helper()
	ctx := t.Context()
	var err error
	broken, err = suite.stage.After(1)
	must(t, err)
	fixed, err = suite.stage.After(2)
	must(t, err)
	bad, err := suite.stage.Release(ctx, broken, func(csv *operatorsv1alpha1.ClusterServiceVersion) {
		deployment := &csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec
		manager := &deployment.Template.Spec.Containers[0]
		manager.Args = append(manager.Args, "--of-another-release")
		// Without a deadline, OLM would give up after five minutes. Kubernetes measures the deadline from the last progress
		// that it has recorded. It can miss that a pod of the old template is replaced by one of the new template, and then
		// waits for ever. It cannot miss that the number of pods grows to two. While the rollout is stuck, the second pod is
		// of the old template.
		deployment.ProgressDeadlineSeconds = new(int32(20))
		deployment.Replicas = new(int32(brokenReplicas))
	})
	must(t, err)
	good, err := suite.stage.Release(ctx, fixed, nil)
	must(t, err)
	brokenCatalog, err = suite.stage.Publish(ctx, "broken", upgrades.Head(bad))
	must(t, err)
	fixedCatalog, err = suite.stage.Publish(ctx, "fixed", upgrades.Head(bad), upgrades.Head(good, bad.Name))
	must(t, err)
	return broken, brokenCatalog, fixed, fixedCatalog
}

// brokenReplicas is how many pods the broken release asks for.
const brokenReplicas = 2

// failToUpgrade approves an upgrade to a release that does not start, and waits until OLM reports that it has failed.
func failToUpgrade(ctx context.Context, t *testing.T, broken string) {
	t.Helper()
	approve(ctx, t, broken)
	must(t, walk.Within(ctx, 2*time.Minute, "the rollout of "+broken+" to be stuck", stuck))
	_, err := suite.cluster.WaitPhase(ctx, broken, operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonInstallCheckFailed, time.Minute)
	must(t, err)
}

// stuck returns nil if the operator's Deployment missed its deadline after its last possible progress, when its pods of the old
// template are ready. If it missed the deadline before, that progress resets it, and OLM installs the release again.
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
