//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/example/memcached-operator/hack/project"
	"github.com/example/memcached-operator/olm/e2e/upgrades"
	"github.com/example/memcached-operator/olm/walk"
)

// Namespaces of the caches, by the policies that apply in them.
const (
	withoutPolicies   = "without-policies"
	policiesFromStart = "policies-from-the-start"
	policiesAtTheLast = "policies-before-the-last-upgrade"
)

// Every cache that a release can run goes through every upgrade, in namespaces with and without admission policies. An upgrade
// to the head loses no item, fails no request, recreates no pod and restarts nothing but agents in StatefulSets, whatever
// policies add. What an upgrade between two older releases loses is only reported: both are released.
//
// The upgrade from the newest release is the last one of the path that takes each release in turn. On it, some caches have
// pending changes before.
func TestUpgradesUnderAdmissionPolicies(t *testing.T) {
	onlyLocal(t)
	installPolicies(t)
	newest, _ := upgradeToTest(t)
	var paths []policyPath
	for _, r := range everyRoute(t) {
		if start := r.Start.Version.String(); start != newest && !r.Stays() && !slices.ContainsFunc(paths, func(p policyPath) bool { return slices.Equal(p.Steps, r.Steps) }) {
			paths = append(paths, policyPath{Route: r})
		}
	}
	var report strings.Builder
	for _, path := range append(paths, oneByOne(t)) {
		t.Run(strings.ReplaceAll(path.String(), " ", ""), func(t *testing.T) { report.WriteString(walkUnderPolicies(t, path)) })
	}
	saveReport(t, map[string][]byte{"upgrades-policies.txt": []byte(report.String())})
}

// policyPath is a route, and the CatalogSource that offers it with its image, if it is not the one in the manifests.
type policyPath struct {
	upgrades.Route
	source, catalog string
}

// oneByOne is the path from the oldest release through all others, as clusters went that were upgraded to each.
func oneByOne(t *testing.T) policyPath {
	t.Helper()
	catalog, err := suite.stage.Publish(t.Context(), "stepwise", upgrades.Stepwise)
	must(t, err)
	offered, err := suite.stage.Graph(t.Context(), upgrades.Stepwise)
	must(t, err)
	routes, err := upgrades.Routes(offered, []string{offered.Releases[0].Name})
	must(t, err)
	return policyPath{Route: routes[0], source: "memcached-operator-stepwise", catalog: catalog}
}

// policyWalk is a path under way.
type policyWalk struct {
	t       *testing.T
	path    policyPath
	tenants []*tenant
	// caches are those of the last upgrade.
	caches []*filledCache
}

// walkUnderPolicies takes every upgrade of the path, and returns the report.
func walkUnderPolicies(t *testing.T, path policyPath) string {
	w := &policyWalk{t: t, path: path, tenants: newTenants(t, withoutPolicies, policiesFromStart, policiesAtTheLast)}
	ctx := withoutOperator(t)
	applyPolicies(t, policiesFromStart)
	choose(ctx, t, walk.Choice{Version: path.Start.Version.String(), Channel: path.Install, Source: path.source, Catalog: path.catalog})
	w.create(path.Start.Version)
	var report strings.Builder
	lines := tabwriter.NewWriter(&report, 0, 0, 2, ' ', 0)
	fmt.Fprintln(lines, "upgrade\tseconds\tnamespace\tcache\titems lost\tpods recreated\trestarts\trequests failed\tpending")
	for i, edge := range path.Steps {
		for _, line := range w.upgrade(stepOf(edge), i == len(path.Steps)-1) {
			fmt.Fprintln(lines, line)
		}
		if i < len(path.Steps)-1 {
			w.create(edge.To.Version)
		}
	}
	must(t, lines.Flush())
	t.Logf("\n%s", report.String())
	w.updateByUsers(ctx)
	return report.String()
}

// updateByUsers lets the users of caches with a warm restart update memcached, after the upgrade. The pods keep what policies gave them,
// or never get it: they stay the same, and keep their items.
func (w *policyWalk) updateByUsers(ctx context.Context) {
	var warm []*filledCache
	for _, cache := range w.caches {
		if cache.key.Name == "warm" {
			patch := fmt.Sprintf(`{"spec":{"version":%q}}`, project.DefaultOperand)
			kubectl(ctx, w.t, "patch", "memcached", cache.key.Name, "-n", cache.key.Namespace, "--type=merge", "-p", patch)
			warm = append(warm, cache)
		}
	}
	for _, cache := range warm {
		w.t.Run("its user updates "+cache.key.String(), func(t *testing.T) { updatedByUser(ctx, t, cache) })
	}
}

// updatedByUser waits until all pods of a cache run the newest memcached, and fails the test unless they kept their items.
func updatedByUser(ctx context.Context, t *testing.T, cache *filledCache) {
	must(t, walk.Within(ctx, 90*time.Second, "all pods to run "+project.DefaultOperand, func(ctx context.Context) error {
		current, err := suite.cluster.WaitReady(ctx, cache.key, int32(len(cache.nodes)), time.Second)
		if err != nil {
			return err
		}
		for _, endpoint := range current.Status.Endpoints {
			if endpoint.Version != project.DefaultOperand {
				return fmt.Errorf("%s runs %s", endpoint.Pod, endpoint.Version)
			}
		}
		return nil
	}))
	cache.count(t)
	cache.keptItems(t)
	cache.keptPods(ctx, t, map[string]int32{"memcached": 1, "agent": 1})
	cache.saysWarm(ctx, t)
}

// upgrade fills all caches, approves the upgrade, and returns a line of the report for each cache. The last upgrade of a path
// leads to the head.
func (w *policyWalk) upgrade(step upgrades.Step, last bool) []string {
	w.t.Helper()
	ctx := w.t.Context()
	w.caches = nil
	for _, tenant := range w.tenants {
		w.caches = append(w.caches, tenant.fill()...)
	}
	plan, err := suite.cluster.WaitPlan(ctx, step.To, 3*time.Minute)
	must(w.t, err)
	traffic := useCaches(w.t, w.caches)
	if last {
		applyPolicies(w.t, policiesAtTheLast)
	}
	start := time.Now()
	must(w.t, suite.cluster.Approve(ctx, plan))
	must(w.t, suite.cluster.WaitOnly(ctx, step.To, 5*time.Minute))
	(&users{t: w.t, offers: suite.cluster.Offer}).reconciled(step.To)
	if err := waitUpdated(ctx, w.caches); err != nil {
		w.t.Error(err) // What was lost is counted all the same.
	}
	took := time.Since(start)
	must(w.t, traffic.Stop())
	var lines []string
	for _, cache := range w.caches {
		cache.count(w.t)
		lines = append(lines, fmt.Sprintf("%s > %s\t%.0f\t%s", step.From, step.To, took.Seconds(), cache.line(ctx, w.t)))
		if last {
			w.unharmed(ctx, cache)
		}
	}
	return lines
}

// unharmed fails the test if the users of a cache have noticed the upgrade.
func (w *policyWalk) unharmed(ctx context.Context, cache *filledCache) {
	w.t.Run(cache.key.String(), func(t *testing.T) {
		cache.keptItems(t)
		cache.neverFailed(t)
		restarts := map[string]int32{"memcached": 0}
		if made := releasedCaches[cache.key.Name]; made.agent {
			restarts["agent"] = 0
			if made.stateful {
				restarts["agent"] = 1
			}
		}
		cache.keptPods(ctx, t, restarts)
	})
}

// line is the line of a cache in the report.
func (c *filledCache) line(ctx context.Context, t *testing.T) string {
	t.Helper()
	kept, lost, failed, requests := 0, 0, 0, 0
	restarts := map[string]int32{}
	now := cachePods(ctx, t, c.key)
	for _, node := range c.nodes {
		lost += node.missing
		outcome := node.memcached.Outcome()
		failed, requests = failed+len(outcome.Failed), requests+outcome.Requests
		for i := range now {
			if now[i].UID == node.pod.UID {
				kept++
				for container, count := range containerRestarts(&now[i]) {
					restarts[container] += count - containerRestarts(&node.pod)[container]
				}
			}
		}
	}
	pending := kubectl(ctx, t, "get", "memcached", c.key.Name, "-n", c.key.Namespace, "-o", "jsonpath={range .status.pending.changes[*]}{.field} {.class} {end}")
	return fmt.Sprintf("%s\t%s\t%d of %d\t%d of %d\t%v\t%d of %d\t%s", c.key.Namespace, c.key.Name, lost, len(c.nodes)*manyItems,
		len(c.nodes)-kept, len(c.nodes), restarts, failed, requests, pending)
}
