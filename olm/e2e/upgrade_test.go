//go:build e2e

package e2e

import (
	"context"
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
	isFixture  = "made up"
)

// Every upgrade that the catalog offers, from every release to the head of every channel,
// goes unnoticed by those who use caches and applications: nothing fails, nothing is lost,
// nothing is recreated. So does the one from the version under development to a release that
// is made up to come after it: its way out is known before it ships.
func TestEveryUpgradeGoesUnnoticed(t *testing.T) {
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
	next := nextRelease(t)
	matrix := upgrades.Matrix{OLM: olmVersion, Kubernetes: kubernetesVersion(t)}
	for _, r := range routes {
		if r.Stays() && len(routes) > 1 {
			continue // Its only step is the last of another route.
		}
		t.Run(strings.ReplaceAll(r.String(), " ", ""), func(t *testing.T) {
			matrix.Walks = append(matrix.Walks, upgrades.Walk{Channels: r.Channels, Steps: walkRoute(t, r, next)})
		})
	}
	writeReport(t, matrix)
}

// nextSource is the name of the CatalogSource that has one release more. It is beside the one
// of the manifests, whose catalog so stays what was staged.
const nextSource = "memcached-operator-next"

// next is a release that is made up to come after the newest one.
type next struct{ version, catalog string }

func nextRelease(t *testing.T) next {
	t.Helper()
	version, err := suite.stage.After(1)
	must(t, err)
	bundle, err := suite.stage.Release(t.Context(), version, nil)
	must(t, err)
	catalog, err := suite.stage.Publish(t.Context(), "next", upgrades.Head(bundle))
	must(t, err)
	return next{version: version, catalog: catalog}
}

// walkRoute installs the first release of the route, lets people use it, and takes every
// step; then they follow a catalog that has a release more.
func walkRoute(t *testing.T, r upgrades.Route, next next) []upgrades.Step {
	ctx := fresh(t)
	choose(ctx, t, walk.Choice{Version: r.Start.Version.String(), Channel: r.Install})
	must(t, suite.cluster.AddCatalog(ctx, nextSource, next.catalog))
	u := newUsers(t, r.Start.Version.String())
	if r.Install != r.Channels[0] {
		must(t, suite.cluster.SetChannel(ctx, r.Channels[0]))
	}
	at := r.Start.Version.String()
	var steps []upgrades.Step
	for _, edge := range r.Steps {
		steps = append(steps, u.upgrade(upgrades.Step{From: at, To: edge.To.Version.String(), Kind: string(edge.Kind), Stage: stageOf(edge.To.Version.String())}))
		at = edge.To.Version.String()
	}
	must(t, suite.cluster.SetSource(ctx, nextSource))
	return append(steps, u.upgrade(upgrades.Step{From: at, To: next.version, Kind: "replaces", Stage: isFixture}))
}

func stageOf(version string) string {
	if staged := suite.stage.Find(version); staged != nil && staged.Released {
		return isReleased
	}
	return isUnderway
}

// upgrade approves one step, measures it, and fails the test if it was noticed. Then users
// try what the new version brings.
func (u *users) upgrade(step upgrades.Step) upgrades.Step {
	u.t.Helper()
	ctx := u.t.Context()
	plan, err := suite.cluster.WaitPlan(ctx, step.To, 3*time.Minute)
	must(u.t, err)
	u.remember()
	start := time.Now()
	must(u.t, suite.cluster.Approve(ctx, plan))
	must(u.t, suite.cluster.WaitOnly(ctx, step.To, 5*time.Minute))
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
// E2E_REPORT names.
func writeReport(t *testing.T, matrix upgrades.Matrix) {
	t.Helper()
	page := upgrades.Markdown(matrix, "upgrades.svg")
	t.Logf("\n%s", page)
	dir := os.Getenv("E2E_REPORT")
	if dir == "" {
		return
	}
	must(t, os.MkdirAll(dir, 0o755))
	for name, content := range map[string][]byte{"upgrades.md": page, "upgrades.svg": upgrades.Picture(matrix)} {
		must(t, os.WriteFile(filepath.Join(dir, name), content, 0o644))
	}
	t.Logf("written to %s", dir)
}
