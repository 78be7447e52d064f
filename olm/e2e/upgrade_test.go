//go:build e2e

package e2e

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/example/memcached-operator/olm/e2e/upgrades"
	"github.com/example/memcached-operator/olm/walk"
)

// What the version that an upgrade leads to is, in the report.
const (
	isReleased = "released"
	isUnderway = "under development"
	isMadeUp   = "made up"
)

// Every upgrade that the catalog offers, from every release to the head of every channel, goes unnoticed by those who use
// caches and applications: no request fails, no item is lost, no pod is recreated. So does the upgrade from the head to a
// made-up next release: what was upgraded can be upgraded again. Some routes test more on their way. Every cache that a release can run
// goes along, in namespaces with and without admission policies.
func TestEveryUpgradeGoesUnnoticed(t *testing.T) {
	routes := everyRoute(t)
	newest, _ := upgradeToTest(t)
	routes = toWalk(t, routes, func(r upgrades.Route) bool {
		start := r.Start.Version.String()
		return start == lastWithFirstMemcached || start == newest
	})
	matrix := upgrades.Matrix{OLM: olmVersion, Kubernetes: kubernetesVersion(t)}
	for _, r := range routes {
		if r.Stays() && len(routes) > 1 {
			continue // Its only step is the last of another route.
		}
		t.Run(strings.ReplaceAll(r.String(), " ", ""), func(t *testing.T) {
			walkRoute := walkToNext
			switch r.Start.Version.String() {
			case lastWithFirstMemcached:
				walkRoute = walkToPendingChanges
			case newest:
				walkRoute = walkFromDeprecatedHead
			}
			matrix.Walks = append(matrix.Walks, upgrades.Walk{Channels: r.Channels, Steps: walkRoute(t, r)})
		})
	}
	writeReport(t, "upgrades", matrix)
}

// someRoutes tells whether tests leave out upgrades that are like others.
func someRoutes() bool { return os.Getenv("E2E_ROUTES") == "some" }

// toWalk returns all routes, or with E2E_ROUTES=some the special ones and one of the others, another in each run. A slow machine has no time
// for more.
func toWalk(t *testing.T, all []upgrades.Route, special func(upgrades.Route) bool) (chosen []upgrades.Route) {
	t.Helper()
	if !someRoutes() {
		return all
	}
	var others []upgrades.Route
	for _, r := range all {
		if special(r) {
			chosen = append(chosen, r)
		} else if !r.Stays() {
			others = append(others, r)
		}
	}
	for i, n := range rand.Perm(len(others)) {
		if i == 0 {
			chosen = append(chosen, others[n])
		} else {
			t.Logf("not walked, because of E2E_ROUTES=some: %s", others[n])
		}
	}
	return chosen
}

// everyRoute returns the routes from every release to the head of every channel.
func everyRoute(t *testing.T) []upgrades.Route {
	t.Helper()
	offered, err := suite.stage.Graph(t.Context())
	must(t, err)
	var released []string
	for _, version := range suite.stage.Versions {
		if version.Released {
			released = append(released, walk.CSVName(version.Version))
		}
	}
	routes, err := upgrades.Routes(offered, released)
	must(t, err)
	if len(routes) == 0 {
		t.Skip("nothing is released yet, so there is nothing to upgrade from")
	}
	return routes
}

// CatalogSources that several tests use, beside the one of the manifests, whose catalog so stays what was staged.
const (
	// nextSource has one release more.
	nextSource = "memcached-operator-next"
	// stepwiseSource upgrades from each release to the one after it.
	stepwiseSource = "memcached-operator-stepwise"
)

// publishNext makes up releases after the newest one, each of which replaces the one before, and publishes them in a catalog of
// this name, with further changes. It returns the upgrades to them, in order.
func publishNext(t *testing.T, name string, releases uint64, changes ...upgrades.Change) (catalog string, steps []upgrades.Step) {
	t.Helper()
	from := suite.version
	for n := range releases {
		version, err := suite.stage.After(n + 1)
		must(t, err)
		bundle, err := suite.stage.Release(t.Context(), version, nil)
		must(t, err)
		changes = append(changes, upgrades.Head(bundle))
		steps = append(steps, upgrades.Step{From: from, To: version, Kind: "replaces", Stage: isMadeUp})
		from = version
	}
	catalog, err := suite.stage.Publish(t.Context(), name, changes...)
	must(t, err)
	return catalog, steps
}

// takeRoute installs the first release of the route, lets users and tenants use what it offers, and takes every step.
func takeRoute(t *testing.T, r upgrades.Route, ts *tenants) (*users, []upgrades.Step) {
	t.Helper()
	ctx := withoutOperator(t)
	choose(ctx, t, walk.Choice{Version: r.Start.Version.String(), Channel: r.Install})
	ts.create(r.Start.Version)
	u := newUsers(t, r.Start.Version.String())
	u.observed = "default" // Upgrades between older releases may change what the tenants have.
	if r.Install != r.Channels[0] {
		must(t, suite.cluster.SetChannel(ctx, r.Channels[0]))
	}
	return u, ts.takeSteps(r, u.upgrade)
}

// stepOf is the upgrade along an edge, to be measured.
func stepOf(edge upgrades.Edge) upgrades.Step {
	to := edge.To.Version.String()
	return upgrades.Step{From: edge.From.Version.String(), To: to, Kind: string(edge.Kind), Stage: stageOf(to)}
}

// walkToNext takes the route, and then the upgrade to the made-up next release.
func walkToNext(t *testing.T, r upgrades.Route) []upgrades.Step {
	u, steps := takeRoute(t, r, underPolicies(t))
	return append(steps, u.upgradeToNext())
}

// upgradeToNext follows a catalog that has one release more, takes the upgrade to it, and measures it.
func (u *users) upgradeToNext() upgrades.Step {
	u.t.Helper()
	catalog, next := publishNext(u.t, "next", 1)
	must(u.t, suite.cluster.AddCatalog(u.t.Context(), nextSource, catalog))
	must(u.t, suite.cluster.SetSource(u.t.Context(), nextSource))
	return u.upgrade(next[0])
}

func stageOf(version string) string {
	if staged := suite.stage.Find(version); staged != nil && staged.Released {
		return isReleased
	}
	return isUnderway
}

// upgrade approves one step and measures it.
func (u *users) upgrade(step upgrades.Step) upgrades.Step {
	u.t.Helper()
	return u.upgradeUntil(step, suite.cluster.WaitOnly)
}

// upgradeUntil does so with another wait for the end of the upgrade.
func (u *users) upgradeUntil(step upgrades.Step, installed func(context.Context, string, time.Duration) error) upgrades.Step {
	u.t.Helper()
	ctx := u.t.Context()
	plan, err := suite.cluster.WaitPlan(ctx, step.To, 3*time.Minute)
	must(u.t, err)
	return u.measure(step, func() error {
		return errors.Join(suite.cluster.Approve(ctx, plan), installed(ctx, step.To, 5*time.Minute))
	})
}

// measure makes one step, and fails the test if it was noticed. Then users try what the new version brings.
func (u *users) measure(step upgrades.Step, upgrade func() error) upgrades.Step {
	u.t.Helper()
	u.remember()
	start := time.Now()
	must(u.t, upgrade())
	took := time.Since(start)
	u.lookedAfter(step.To)
	measured := u.notice()
	measured.From, measured.To, measured.Kind, measured.Stage, measured.Took = step.From, step.To, step.Kind, step.Stage, took
	if !measured.Harmless() {
		u.t.Errorf("the upgrade was noticed: %+v", measured)
	}
	u.offer(step.To)
	return measured
}

// choose installs a release of one's choice and waits until it runs.
func choose(ctx context.Context, t *testing.T, choice walk.Choice) {
	t.Helper()
	must(t, suite.cluster.Choose(ctx, suite.manifests, choice))
	approve(ctx, t, choice.Version)
	must(t, suite.cluster.WaitOnly(ctx, choice.Version, 5*time.Minute))
}

// approve lets OLM install a version as soon as it asks.
func approve(ctx context.Context, t *testing.T, version string) {
	t.Helper()
	plan, err := suite.cluster.WaitPlan(ctx, version, 3*time.Minute)
	must(t, err)
	must(t, suite.cluster.Approve(ctx, plan))
}

// writeReport prints the table, and writes it with its picture into the directory that
// E2E_REPORT names, under this name.
func writeReport(t *testing.T, name string, matrix upgrades.Matrix) {
	t.Helper()
	page := upgrades.Markdown(matrix, name+".svg")
	t.Logf("\n%s", page)
	saveReport(t, map[string][]byte{name + ".md": page, name + ".svg": upgrades.Picture(matrix)})
}

// saveReport writes files into the directory that E2E_REPORT names.
func saveReport(t *testing.T, files map[string][]byte) {
	t.Helper()
	dir := os.Getenv("E2E_REPORT")
	if dir == "" {
		return
	}
	must(t, os.MkdirAll(dir, 0o755))
	for name, content := range files {
		must(t, os.WriteFile(filepath.Join(dir, name), content, 0o644))
	}
	t.Logf("written to %s", dir)
}
