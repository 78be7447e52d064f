//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/example/memcached-operator/olm/walk"
)

// olmVersion is the release of OLM that the tests install.
const olmVersion = "0.46.0"

// T9, T10: operator-sdk installs OLM and the bundle, and removes both.
func TestRunBundle(t *testing.T) {
	ctx := fresh(t)
	reinstallOLM(ctx, t)
	const bundles = "e2e-run-bundle"
	namespace(t, bundles, forRunBundle)

	out := run(ctx, t, suite.sdk, "run", "bundle", suite.bundle, "--namespace", bundles, "--index-image", suite.opm, "--timeout", "5m")
	contains(t, out, "OLM has successfully installed", walk.CSVName(suite.version))
	contains(t, kubectl(ctx, t, "get", "csv", "-n", bundles), walk.CSVName(suite.version), "Succeeded")
	contains(t, kubectl(ctx, t, "get", "installplan", "-n", bundles), "true")
	pods := kubectl(ctx, t, "get", "pods", "-n", bundles)
	contains(t, pods, "memcached-operator-controller-manager-", "Completed")
	if got := len(strings.Split(strings.TrimSpace(pods), "\n")) - 1; got != 3 {
		t.Errorf("%d pods, want the manager, the registry and the finished unpack job:\n%s", got, pods)
	}
	create(t, "default", "example-memcached.yaml")
	_, err := suite.cluster.WaitReady(ctx, inDefault("example-memcached"), 3, 2*time.Minute)
	must(t, err)

	// cleanup deletes the CRD, so the caches must be deleted before, as olm/README.md says.
	kubectl(ctx, t, "delete", "memcacheds", "--all", "-n", "default", "--cascade=foreground", "--timeout=60s")
	run(ctx, t, suite.sdk, "cleanup", walk.Package, "--namespace", bundles, "--delete-all", "--timeout", "2m")
	must(t, walk.Within(ctx, time.Minute, "the operator to be gone", func(ctx context.Context) error {
		left, err := suite.cluster.Kubectl(ctx, "get", "csv,subscriptions.operators.coreos.com,catalogsources,deployments", "-n", bundles, "-o", "name")
		if err == nil && strings.Contains(left, "memcached") {
			err = fmt.Errorf("still there: %s", left)
		}
		return err
	}))
}

// reinstallOLM uninstalls OLM and installs it again with operator-sdk, as a new user does. Only on the local cluster:
// elsewhere, other operators depend on OLM.
func reinstallOLM(ctx context.Context, t *testing.T) {
	t.Helper()
	if !suite.local {
		return
	}
	sdk := func(args ...string) string {
		words := slices.Concat(suite.mirror, []string{suite.sdk}, args)
		return run(ctx, t, words[0], words[1:]...)
	}
	sdk("olm", "uninstall", "--version", olmVersion, "--timeout", "5m")
	for left := range strings.Lines(kubectl(ctx, t, "get", "crds,namespaces", "-o", "name")) {
		if left = strings.TrimSpace(left); strings.HasSuffix(left, ".operators.coreos.com") || left == "namespace/olm" {
			t.Errorf("after `olm uninstall` there is still %s", left)
		}
	}
	contains(t, sdk("olm", "install", "--version", olmVersion, "--timeout", "5m"), "Successfully installed OLM")
}

// forRunBundle is the label of namespaces for run bundle, whose registry pod does not meet the restricted standard.
const forRunBundle = "pod-security.kubernetes.io/enforce=baseline"

// T12: operator-sdk installs a release and upgrades it, with a catalog of its own. TestEveryUpgradeGoesUnnoticed tests our
// channels.
func TestRunBundleUpgrade(t *testing.T) {
	from, to := upgradeToTest(t)
	ctx := fresh(t)
	namespace(t, walk.Namespace, forRunBundle)
	bundle := func(version string) string { return suite.stage.Pull(suite.stage.Find(version).BundleImage) }

	run(ctx, t, suite.sdk, "run", "bundle", bundle(from), "--namespace", walk.Namespace, "--index-image", suite.opm, "--timeout", "5m")
	u := newUsers(t, from)
	out := run(ctx, t, suite.sdk, "run", "bundle-upgrade", bundle(to), "--namespace", walk.Namespace, "--timeout", "5m")
	contains(t, out, "Successfully upgraded to", walk.CSVName(to))
	must(t, walk.Within(ctx, time.Minute, "the version before to be gone", func(ctx context.Context) error {
		versions, err := suite.cluster.Versions(ctx)
		if err == nil && (len(versions) != 1 || versions[0].Name != walk.CSVName(to)) {
			err = fmt.Errorf("there are %d versions", len(versions))
		}
		return err
	}))
	contains(t, kubectl(ctx, t, "get", "csv", "-n", walk.Namespace), walk.CSVName(to), "Succeeded")
	u.lookedAfter(to)
	u.untouched("run bundle-upgrade")
}

// T13: every scorecard test passes, including our own on the running operator.
func scorecard(t *testing.T) {
	ctx := t.Context()
	const scored = "e2e-scorecard"
	namespace(t, scored)
	kubectl(ctx, t, "apply", "-n", scored, "-f", "../scorecard/rbac.yaml")

	out := run(ctx, t, suite.sdk, append([]string{"scorecard", suite.bundleDir, "--namespace", scored,
		"--service-account", "memcached-operator-scorecard", "--wait-time", "5m", "--output", "json"}, suite.scorecard...)...)
	passed := scorecardStates(t, out)
	if len(passed) < 6 {
		t.Errorf("only %d scorecard tests ran: %v", len(passed), passed)
	}
	for name, state := range passed {
		if state != "pass" {
			t.Errorf("scorecard test %s: %s\n%s", name, state, out)
		}
	}
}

// scorecardStates reads the state of each test from scorecard's JSON output.
func scorecardStates(t *testing.T, out string) map[string]string {
	t.Helper()
	var list struct {
		Items []struct {
			Status struct {
				Results []struct{ Name, State string }
			}
		}
	}
	start := strings.Index(out, "{")
	if start < 0 {
		t.Fatalf("scorecard printed no JSON:\n%s", out)
	}
	must(t, json.NewDecoder(strings.NewReader(out[start:])).Decode(&list))
	states := map[string]string{}
	for _, item := range list.Items {
		for _, result := range item.Status.Results {
			states[result.Name] = result.State
		}
	}
	return states
}
