//go:build e2e

package e2e

import (
	"context"
	"testing"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/example/memcached-operator/hack/project"
	"github.com/example/memcached-operator/olm/e2e/upgrades"
)

// chaosRelease is a made-up release.
type chaosRelease struct {
	version   string
	agent     string // its image, which no other release has
	memcached string // the default version
}

// chaosReleases makes up releases after the newest one, each of which replaces the one before, and publishes them in a catalog. Each has an
// agent of its own, and every second one another default version of memcached than the one before: pods have something to get from each.
func chaosReleases(ctx context.Context, t *testing.T, n int) (releases []chaosRelease, catalog string) {
	t.Helper()
	image, err := suite.stage.Digest(ctx, project.OperandRepository+":"+otherMemcached)
	must(t, err)
	other := project.Operand{Version: otherMemcached, Image: image}
	var heads []upgrades.Change
	for i := range n {
		release := chaosRelease{memcached: project.DefaultOperand}
		if i/2%2 == 0 {
			release.memcached = other.Version
		}
		release.version, err = suite.stage.After(uint64(i + 1))
		must(t, err)
		release.agent, err = suite.stage.Operator(ctx, "chaos-"+release.version)
		must(t, err)
		bundle, err := suite.stage.Release(ctx, release.version, func(csv *operatorsv1alpha1.ClusterServiceVersion) { release.edit(csv, other) })
		must(t, err)
		heads = append(heads, upgrades.Head(bundle))
		releases = append(releases, release)
	}
	catalog, err = suite.stage.Publish(ctx, "chaos", heads...)
	must(t, err)
	return releases, catalog
}

// edit gives a ClusterServiceVersion the images of the release. The release knows one more version of memcached.
func (r chaosRelease) edit(csv *operatorsv1alpha1.ClusterServiceVersion, other project.Operand) {
	manager := &csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Spec.Containers[0]
	manager.Image = r.agent
	for name, value := range map[string]string{other.Env(): other.Image, project.DefaultOperandEnv: r.memcached, project.AgentEnv: r.agent} {
		setVariable(manager, name, value)
	}
	csv.Spec.RelatedImages = append(csv.Spec.RelatedImages, operatorsv1alpha1.RelatedImage{Name: other.RelatedName(), Image: other.Image})
}
