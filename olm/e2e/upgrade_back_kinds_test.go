//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/memcached-operator/olm/e2e/observe"
	"github.com/example/memcached-operator/olm/walk"
	appv1alpha1 "github.com/example/memcached-operator/operator/api/app/v1alpha1"
)

// beforeApplications is the last release that does not know the kind Application.
const beforeApplications = "0.1.0"

// An Application survives the way back to a release that does not know its kind. It stays as it is while that release runs, and is managed
// again when the newer release is back, with what its owner has changed meanwhile. An administrator does this with the commands of
// olm/README.md.
func TestWayBackBeforeApplications(t *testing.T) {
	ctx := withoutOperator(t)
	must(t, suite.cluster.Choose(ctx, suite.manifests, walk.Choice{Version: suite.version, Channel: "candidate", Automatic: true}))
	must(t, suite.cluster.WaitOnly(ctx, suite.version, 5*time.Minute))
	image, err := webImage()
	must(t, err)
	visitor := makeVisited(t, sampleApplication, image)
	patchSpec(t, sampleApplication, `{"ingress":{"host":"example.foo.com"}}`)
	waitReady(t, "default", sampleApplication)
	before, uids := takeApplications(t), childUIDs(t)

	admin := administrator{newShell(t)}
	admin.asksFirst()
	admin.goesBack(beforeApplications)
	must(t, suite.cluster.WaitOnly(ctx, beforeApplications, 3*time.Minute))
	newCacheIsReady(ctx, t) // So the older release is at work.
	if changes := fmt.Sprint(before.Compare(takeApplications(t))); changes != fmt.Sprint(observe.Changes{}) {
		t.Errorf("%s has changed: %s", beforeApplications, changes)
	}

	patchSpec(t, sampleApplication, `{"replicas":3}`)
	admin.follows("fast")
	admin.approves(suite.version)
	must(t, suite.cluster.WaitOnly(ctx, suite.version, 3*time.Minute))
	waitReady(t, "default", sampleApplication)
	keptAndGrown(t, before, uids)
	if counts := visitor(t); counts.Requests < 20 || counts.Failed > 0 {
		t.Errorf("%d of %d requests failed: %s", counts.Failed, counts.Requests, strings.Join(counts.Failures, "; "))
	} else {
		t.Logf("there and back: %d requests, none failed, the slowest took %s", counts.Requests, counts.Slowest)
	}
}

// takeApplications records Applications and what the operator made for them.
func takeApplications(t *testing.T) *observe.State {
	t.Helper()
	state, err := observe.Take(t.Context(), suite.cluster.Client, "default", []schema.GroupVersionKind{appv1alpha1.GroupVersion.WithKind(appv1alpha1.ApplicationKind)})
	must(t, err)
	return state
}

// childUIDs lists the sample Application and what it owns, one a line with the UID.
func childUIDs(t *testing.T) string {
	t.Helper()
	return kubectl(t.Context(), t, "get", "application,deployment,service,ingress,poddisruptionbudget", "-n", "default",
		"--field-selector", "metadata.name="+sampleApplication, "-o", `jsonpath={range .items[*]}{.kind} {.metadata.uid}{"\n"}{end}`)
}

// keptAndGrown fails the test unless the sample Application has one pod more than before, and all else is the same.
func keptAndGrown(t *testing.T, before *observe.State, uids string) {
	t.Helper()
	changes := before.Compare(takeApplications(t))
	if len(changes.Gone)+len(changes.Templates)+changes.Restarts > 0 || len(changes.New) != 1 {
		t.Errorf("want one pod more, and no other change: %+v", changes)
	}
	if after := childUIDs(t); after != uids {
		t.Errorf("objects were recreated: there were\n%s\nand are\n%s", uids, after)
	}
}

// administrator runs the commands of olm/README.md as they stand there.
type administrator struct{ shell }

// runs runs the only block of a section that has these words, in which it replaces pairs of an example's name and the name here.
func (a administrator) runs(heading, words string, names ...string) string {
	a.t.Helper()
	return a.shell.run(a.named(one(a.t, section(a.t, "olm/README.md", heading), words), names...))
}

// named replaces pairs of an example's name and the name here.
func (a administrator) named(text string, names ...string) string {
	a.t.Helper()
	for i := 0; i < len(names); i += 2 {
		contains(a.t, text, names[i])
	}
	return strings.NewReplacer(names...).Replace(text)
}

// asksFirst makes OLM ask before each upgrade.
func (a administrator) asksFirst() {
	a.t.Helper()
	a.runs("upgrades", `"installPlanApproval":"Manual"`)
}

// follows changes the channel, and makes OLM look at the Subscription.
func (a administrator) follows(channel string) {
	a.t.Helper()
	a.runs("upgrades", `"channel":`, "fast", channel)
	a.runs("upgrades", "kubectl annotate")
	if said := a.runs("upgrades", "ResolutionFailed"); said != "" {
		a.t.Logf("OLM says: %s", said)
	}
}

// approves approves the upgrade to a version when OLM asks.
func (a administrator) approves(version string) {
	a.t.Helper()
	a.runs("upgrades", "kubectl patch installplan", "install-abcde", a.plan(version))
}

// plan waits until an InstallPlan for the version requires approval, and returns its name.
func (a administrator) plan(version string) string {
	a.t.Helper()
	plan, err := suite.cluster.WaitPlan(a.t.Context(), version, 3*time.Minute)
	must(a.t, err)
	return plan.Name
}

// goesBack goes back to an older release, up to the approval of its InstallPlan.
func (a administrator) goesBack(version string) {
	a.t.Helper()
	block := one(a.t, section(a.t, "olm/README.md", "back-to-the-release-before"), "subscription.yaml")
	prepare, install, found := strings.Cut(block, "kubectl apply")
	if !found {
		a.t.Fatalf("no Subscription is applied in:\n%s", block)
	}
	create, approval, _ := strings.Cut("kubectl apply"+install, "\n")
	a.run(prepare)
	a.edit("subscription.yaml", "  installPlanApproval: Automatic\n",
		a.named(one(a.t, section(a.t, "olm/README.md", "upgrades"), "startingCSV"), "0.2.0", version))
	a.run(create)
	a.run(a.named(approval, "NAME", a.plan(version)))
}

// edit replaces the only such text of a file.
func (a administrator) edit(file, text, by string) {
	a.t.Helper()
	path := filepath.Join(a.folder, file)
	before := string(readFile(a.t, path))
	if strings.Count(before, text) != 1 {
		a.t.Fatalf("want one %q in:\n%s", text, before)
	}
	must(a.t, os.WriteFile(path, []byte(strings.Replace(before, text, by, 1)), 0o600))
}
