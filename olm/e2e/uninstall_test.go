//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/olm/walk"
)

// Removing the operator does not stop caches and applications. Deleting these too leaves exactly what olm/README.md lists, and
// deleting that leaves nothing.
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
	must(t, walk.Within(ctx, time.Minute, "only what olm/README.md lists to be left", func(ctx context.Context) error {
		if err := suite.cluster.DeleteGroupRoles(ctx); err != nil {
			return err
		}
		after, err := suite.cluster.Inventory(ctx)
		if diff := cmp.Diff(slices.Sorted(slices.Values(slices.Concat(before, more))), after); err == nil && diff != "" {
			err = fmt.Errorf("objects (-want +got):\n%s", diff)
		}
		return err
	}))
}
