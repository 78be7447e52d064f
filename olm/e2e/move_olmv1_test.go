//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/blang/semver/v4"

	"github.com/example/memcached-operator/olm/walk"
)

// The operator moves from OLM v0 to OLM v1 and back as olm/v1/README.md says, and nobody notices.
func movedToOLMv1(t *testing.T) {
	ctx := t.Context()
	withInstaller(t)
	ts := newTenants(t, "moves")
	ts.create(semver.MustParse(suite.version))
	u := newUsersOf(t, suite.version, staged) // Under OLM v1 no ClusterServiceVersion tells it.
	ts.use()
	u.remember() // The tenants, too.

	must(t, withdraw(ctx))
	handOver(ctx, t)
	must(t, u.extended(walk.Pin{Version: suite.version}, suite.version))
	u.lookedAfter(suite.version)
	u.untouched("the move to OLM v1")

	must(t, removeExtension(ctx))
	must(t, suite.cluster.Subscribe(ctx, suite.manifests, walk.Choice{Version: suite.version, Channel: "candidate"}))
	approve(ctx, t, suite.version)
	must(t, suite.cluster.WaitOnly(ctx, suite.version, 3*time.Minute))
	u.lookedAfter(suite.version)
	u.untouched("the move back to OLM v0")

	ts.settle()
	for _, cache := range ts.caches {
		t.Log(cache.line(ctx, t))
		cache.keptItems(t)
		cache.neverFailed(t)
		restarts := map[string]int32{"memcached": 0}
		if releasedCaches[cache.key.Name].agent {
			restarts["agent"] = 0
		}
		cache.keptPods(ctx, t, restarts)
	}
}

// handOver gives what OLM v0 leaves to OLM v1, with the commands of the page.
func handOver(ctx context.Context, t *testing.T) {
	t.Helper()
	left := []string{"crd/" + walk.MemcachedCRD, "crd/" + walk.ApplicationCRD}
	for _, line := range walk.Leftovers {
		if kind, name, _ := strings.Cut(line, " "); strings.HasPrefix(kind, "clusterroles.") {
			left = append(left, kind+"/"+name)
		}
	}
	kubectl(ctx, t, append(append([]string{"label"}, left...), "app.kubernetes.io/managed-by=Helm")...)
	kubectl(ctx, t, append(append([]string{"annotate"}, left...), "meta.helm.sh/release-name="+walk.Package, "meta.helm.sh/release-namespace="+walk.Namespace)...)
}
