//go:build e2e

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/blang/semver/v4"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/example/memcached-operator/olm/e2e/upgrades"
	"github.com/example/memcached-operator/olm/walk"
)

// operatorController is the release of OLM v1 that the local cluster has.
const operatorController = "v1 (operator-controller v1.2.0)"

// waitOLMv1 is how long OLM v1 may take to install a version.
const waitOLMv1 = 2 * time.Minute

// OLM v1 upgrades pinned to a version, from every release to the next and to the newest, by channel, and back, and nobody notices. It
// does so with the rights in olm/v1 alone.
func TestOLMv1(t *testing.T) {
	ctx := withoutOperator(t)
	withInstaller(t)
	offered, err := suite.stage.Graph(ctx)
	must(t, err)
	var released []string
	for _, version := range suite.stage.Versions {
		if version.Released {
			released = append(released, walk.CSVName(version.Version))
		}
	}
	matrix := upgrades.Matrix{OLM: operatorController, Kubernetes: kubernetesVersion(t)}
	routes := upgrades.Pinned(offered, released, os.Getenv("E2E_EVERY_EDGE") != "")
	longest := routes[0].String()
	for _, r := range toWalk(t, routes, func(r upgrades.Route) bool { return r.String() == longest }) {
		t.Run(strings.ReplaceAll(r.String(), " ", ""), func(t *testing.T) {
			u, steps := takePinned(t, r)
			if r.String() == longest {
				steps = append(steps, u.followChannel(steps[len(steps)-1].To))
			}
			matrix.Walks = append(matrix.Walks, upgrades.Walk{Channels: r.Channels, Steps: steps})
		})
	}
	writeReport(t, "upgrades-olm-v1", matrix)
	t.Run("production caches", productionByOLMv1)
}

// withInstaller applies OLM v1's catalog and ServiceAccount until the test ends.
func withInstaller(t *testing.T) {
	t.Helper()
	onlyLocal(t) // Which brings OLM v1.
	t.Cleanup(func() {
		ctx := context.Background()
		must(t, suite.cluster.Delete(ctx, "clusterextension", walk.Package, "--timeout=60s"))
		for _, file := range []string{"10-clustercatalog.yaml", "20-installer.yaml"} {
			must(t, suite.cluster.Delete(ctx, "-f", filepath.Join(olmv1Manifests(), file), "--timeout=60s"))
		}
	})
	must(t, suite.cluster.ApplyInstaller(t.Context(), olmv1Manifests()))
}

func olmv1Manifests() string { return filepath.Join(filepath.Dir(suite.manifests), "olm-v1") }

// extend installs a version through OLM v1. When the test ends, it removes the version with all resources and CRDs.
func extend(t *testing.T, version string) {
	t.Helper()
	t.Cleanup(func() {
		ctx := context.Background()
		if t.Failed() {
			t.Log(suite.cluster.Diagnose(ctx))
		}
		must(t, deleteOperands(ctx))
		must(t, removeExtension(ctx))
		must(t, suite.cluster.DeleteDefinitions(ctx))
	})
	must(t, suite.cluster.Extend(t.Context(), olmv1Manifests(), walk.Pin{Version: version}))
	must(t, suite.cluster.WaitExtension(t.Context(), version, waitOLMv1))
}

// takePinned installs the first release of the route, lets people use it, and takes every step.
func takePinned(t *testing.T, r upgrades.Route) (u *users, steps []upgrades.Step) {
	t.Helper()
	extend(t, r.Start.Version.String())
	u = newUsersOf(t, r.Start.Version.String(), staged)
	for _, edge := range r.Steps {
		step := stepOf(edge)
		step.Kind += ", pinned"
		steps = append(steps, u.measure(step, func() error { return u.extended(walk.Pin{Version: step.To}, step.To) }))
	}
	return u, steps
}

// extended makes OLM v1 install a version.
func (u *users) extended(pin walk.Pin, version string) error {
	if err := suite.cluster.Extend(u.t.Context(), olmv1Manifests(), pin); err != nil {
		return err
	}
	return suite.cluster.WaitExtension(u.t.Context(), version, waitOLMv1)
}

// followChannel follows a channel from a version to a made-up next release, as soon as a new catalog brings it, and measures this
// upgrade. Then it tries what else can happen to a ClusterExtension.
func (u *users) followChannel(from string) upgrades.Step {
	u.t.Helper()
	ctx := u.t.Context()
	must(u.t, u.extended(walk.Pin{Channel: "candidate"}, from))
	to, catalog := publishNextOperator(ctx, u.t)
	step := upgrades.Step{From: from, To: to, Kind: "replaces, by channel", Stage: isMadeUp}
	measured := u.measure(step, func() error {
		if err := suite.cluster.SetClusterCatalog(ctx, olmv1Manifests(), catalog); err != nil {
			return err
		}
		return suite.cluster.WaitExtension(ctx, step.To, waitOLMv1)
	})
	u.t.Cleanup(func() {
		kubectl(context.Background(), u.t, "apply", "-f", filepath.Join(olmv1Manifests(), "10-clustercatalog.yaml"))
	})

	must(u.t, suite.cluster.Extend(ctx, olmv1Manifests(), walk.Pin{Version: from}))
	must(u.t, suite.cluster.WaitExtensionSays(ctx, `matching version "`+from+`"`))
	u.untouched("a downgrade that OLM v1 refuses")
	must(u.t, u.extended(walk.Pin{Version: from, Force: true}, from))
	u.lookedAfter(from)
	u.untouched("a forced downgrade to the same operator")

	kubectl(ctx, u.t, "delete", "clustercatalog", walk.Package)
	must(u.t, suite.cluster.Extend(ctx, olmv1Manifests(), walk.Pin{Version: step.To}))
	must(u.t, suite.cluster.WaitExtensionSays(ctx, "no bundles found"))
	u.untouched("an upgrade without a catalog")
	must(u.t, suite.cluster.SetClusterCatalog(ctx, olmv1Manifests(), catalog))
	must(u.t, suite.cluster.WaitExtension(ctx, step.To, waitOLMv1))
	u.lookedAfter(step.To)
	u.untouched("the upgrade when the catalog is back")

	must(u.t, removeExtension(ctx))
	u.untouched("the end of the ClusterExtension")
	must(u.t, u.extended(walk.Pin{Version: step.To}, step.To))
	u.lookedAfter(step.To)
	u.untouched("an installation over what was left")
	return measured
}

// publishNextOperator makes up the next release and publishes it in a catalog. It has another image of the operator, as every release: if
// no object of a bundle differs from what is installed, OLM v1 does not note that bundle as installed.
func publishNextOperator(ctx context.Context, t *testing.T) (version, catalog string) {
	t.Helper()
	version, err := suite.stage.After(1)
	must(t, err)
	operator, err := suite.stage.Operator(ctx, "olm-v1")
	must(t, err)
	bundle, err := suite.stage.Release(ctx, version, func(csv *operatorsv1alpha1.ClusterServiceVersion) {
		csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Spec.Containers[0].Image = operator
	})
	must(t, err)
	catalog, err = suite.stage.Publish(ctx, "olm-v1", upgrades.Head(bundle))
	must(t, err)
	return version, catalog
}

// staged reads what a version offers from its bundle. Made-up releases offer what the newest one does.
func staged(_ context.Context, version string) (*walk.Offer, error) {
	if suite.stage.Find(version) == nil {
		version = suite.version
	}
	return walk.ReadOffer(filepath.Join(filepath.Dir(suite.bundleDir), "v"+version))
}

// productionByOLMv1 takes production caches through every release that can run them. Upgrades restart agents in StatefulSets, and nothing
// else.
func productionByOLMv1(t *testing.T) {
	ctx := t.Context()
	first := semver.MustParse(releasedCaches["production"].since)
	var versions []string
	for _, version := range suite.stage.Versions {
		if semver.MustParse(version.Version).GE(first) {
			versions = append(versions, version.Version)
		}
	}
	extend(t, versions[0])
	ts := newTenants(t, "olm-v1")
	ts.create(first)
	u := &users{t: t, offers: staged}
	for i, to := range versions[1:] {
		ts.use()
		kubectl(ctx, t, "wait", walk.MemcachedCRD, "--all", "-A", "--for=condition=Progressing=False", "--timeout=2m") // As the page advises.
		must(t, u.extended(walk.Pin{Version: to}, to))
		u.reconciled(to)
		ts.settle()
		for _, cache := range ts.caches {
			t.Logf("%s > %s\t%s", versions[i], to, cache.line(ctx, t))
		}
		if to == suite.version {
			ts.unharmed()
		}
	}
}
