//go:build e2e

package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/example/memcached-operator/olm/walk"
)

// Removing the operator stops nothing that it looked after. Deleting that as well leaves on the cluster exactly what
// olm/README.md says, and deleting this nothing at all.
func uninstalled(t *testing.T, before []string) {
	ctx := t.Context()
	u := newUsers(t, suite.version)

	must(t, suite.cluster.Withdraw(ctx))
	u.untouched("the end of the operator")
	must(t, u.load.Stop())

	must(t, suite.cluster.DeleteResources(ctx))
	must(t, suite.cluster.Delete(ctx, "-f", suite.manifests, "--timeout=120s"))
	must(t, suite.cluster.DeleteDefinitions(ctx))
	left(ctx, t, before, walk.Leftovers)
	must(t, suite.cluster.DeleteLeftovers(ctx))
	left(ctx, t, before, nil)
}

func left(ctx context.Context, t *testing.T, before, more []string) {
	t.Helper()
	must(t, walk.Within(ctx, time.Minute, "the cluster to be as before, and what olm/README.md says to be left", func(ctx context.Context) error {
		return suite.cluster.Left(ctx, before, more)
	}))
}
