//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// administrator runs the commands of olm/README.md as they stand there.
type administrator struct{ shell }

// runs runs the only block of a section that has these words, in which it replaces pairs of an example's name and the name here.
func (a administrator) runs(heading, words string, names ...string) string {
	a.t.Helper()
	return a.run(a.named(one(a.t, section(a.t, "olm/README.md", heading), words), names...))
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

// overrides lets an upgrade go on that the old version holds back for this reason.
func (a administrator) overrides(from, to, reason string) {
	a.t.Helper()
	code := section(a.t, "olm/README.md", "an-upgrade-that-waits")
	look := a.named(one(a.t, code, "kubectl get csv"), "0.4.0", from, "0.4.1", to)
	contains(a.t, a.run(look+one(a.t, code, "kubectl patch operatorcondition")), reason)
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
