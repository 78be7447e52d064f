//go:build e2e && long

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/example/memcached-operator/olm/e2e/upgrades"
	"github.com/example/memcached-operator/olm/walk"
)

// stalled is longer than OLM's resync, after which it resolves again: 12 to 18 minutes.
const stalled = 25 * time.Minute

// The Subscription approves upgrades by itself, and its catalog is polled. When the catalog gets a new release, every cluster
// that has any older one follows, although nobody touches anything. How long that takes is reported.
func TestUpgradesByThemselves(t *testing.T) {
	offered, err := suite.stage.Graph(t.Context())
	must(t, err)
	var report strings.Builder
	for i, release := range offered.Releases[:len(offered.Releases)-1] {
		from, next := release.Version.String(), offered.Releases[i+1].Version.String()
		for _, to := range slices.Compact([]string{next, suite.version}) {
			t.Run(from+">"+to, func(t *testing.T) {
				fmt.Fprintf(&report, "%s > %s: %s\n", from, to, followed(t, from, to))
			})
		}
	}
	t.Logf("the time from the push of the catalog to the new version, of which up to a minute is the poll's:\n%s", report.String())
}

// followed installs a release from a catalog that ends with it, and pushes the catalog that ends with another one. It returns
// how long it took until that was installed.
func followed(t *testing.T, from, to string) time.Duration {
	ctx := withoutOperator(t)
	// Each has a catalog of its own, because an earlier one is served until it is polled again.
	name := "polled-" + strings.ReplaceAll(from+"-"+to, ".", "-")
	push := func(version string) string {
		_, err := suite.stage.Publish(ctx, name, upgrades.Until(version))
		must(t, err)
		return suite.stage.CatalogTagged(name)
	}
	must(t, suite.cluster.Choose(ctx, suite.manifests, walk.Choice{
		Version: from, Channel: "candidate", Source: name, Catalog: push(from), Poll: time.Minute, Automatic: true,
	}))
	must(t, suite.cluster.WaitOnly(ctx, from, 5*time.Minute))
	u := newUsers(t, from)

	start := time.Now()
	push(to)
	must(t, suite.cluster.WaitOnly(ctx, to, stalled))
	took := time.Since(start)
	u.lookedAfter(to)
	if to == suite.version {
		u.untouched("an upgrade that nobody approved")
	}
	return took.Round(time.Second)
}
