//go:build e2e

package e2e

import (
	"strings"
	"testing"
)

// T1, T8: generating again changes nothing. The bundle is composed, built and pushed, and passes every check of operator-sdk
// without a warning.
func TestBundle(t *testing.T) {
	status := func() string {
		return run(t.Context(), t, "git", "status", "--porcelain") + run(t.Context(), t, "git", "diff")
	}
	before := status()
	image := "BUNDLE_IMG=" + suite.registry + "/example/memcached-operator-bundle:e2e"
	contains(t, run(t.Context(), t, "make", "generate", "bundle", "bundle-build", "bundle-push", image), "memcached-operator-bundle:e2e")
	if after := status(); after != before {
		t.Errorf("`make generate bundle` changed the checkout:\n%s", after)
	}
	out := run(t.Context(), t, suite.sdk, "bundle", "validate", suite.bundleDir, "--select-optional", "suite=operatorframework")
	contains(t, out, "All validation tests have completed successfully")
	if strings.Contains(strings.ToLower(out), "warning") {
		t.Errorf("validation warns:\n%s", out)
	}
}
