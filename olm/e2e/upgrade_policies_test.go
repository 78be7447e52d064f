//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/example/memcached-operator/hack/project"
	"github.com/example/memcached-operator/olm/e2e/upgrades"
	"github.com/example/memcached-operator/olm/walk"
	cachev1alpha1 "github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

// Namespaces of the caches, by the policies that apply in them.
const (
	withoutPolicies   = "without-policies"
	policiesFromStart = "policies-from-the-start"
	policiesAtTheLast = "policies-before-the-last-upgrade"
)

// Every cache that a release can run takes the path from the oldest release through all others, as clusters went that were upgraded
// to each, in namespaces with and without admission policies. Before the last upgrade, which is the one from the newest release, some
// caches have pending changes.
func TestUpgradesOneByOneUnderAdmissionPolicies(t *testing.T) {
	onlyLocal(t)
	path := oneByOne(t)
	ts := underPolicies(t)
	ctx := withoutOperator(t)
	choose(ctx, t, walk.Choice{Version: path.Start.Version.String(), Channel: path.Install, Source: path.source, Catalog: path.catalog})
	ts.create(path.Start.Version)
	ts.takeSteps(path.Route, func(step upgrades.Step) upgrades.Step {
		plan, err := suite.cluster.WaitPlan(ctx, step.To, 3*time.Minute)
		must(t, err)
		start := time.Now()
		must(t, suite.cluster.Approve(ctx, plan))
		must(t, suite.cluster.WaitOnly(ctx, step.To, 5*time.Minute))
		(&users{t: t, offers: suite.cluster.Offer}).reconciled(step.To)
		step.Took = time.Since(start)
		return step
	})
}

// policyPath is a route, and the CatalogSource that offers it with its image.
type policyPath struct {
	upgrades.Route
	source, catalog string
}

// oneByOne is the path from the oldest release through all others.
func oneByOne(t *testing.T) policyPath {
	t.Helper()
	catalog, err := suite.stage.Publish(t.Context(), "stepwise", upgrades.Stepwise)
	must(t, err)
	offered, err := suite.stage.Graph(t.Context(), upgrades.Stepwise)
	must(t, err)
	routes, err := upgrades.Routes(offered, []string{offered.Releases[0].Name})
	must(t, err)
	return policyPath{Route: routes[0], source: stepwiseSource, catalog: catalog}
}

// underPolicies creates namespaces with and without admission policies, or with E2E_ROUTES=some one of those with policies, another in each
// run: a slow machine cannot upgrade the caches of all at once. Only tests on the local cluster can use the caches in them: elsewhere there are
// none.
func underPolicies(t *testing.T) *tenants {
	t.Helper()
	if !suite.local {
		return newTenants(t)
	}
	installPolicies(t)
	names := []string{policiesFromStart, policiesAtTheLast}
	if someRoutes() {
		n := rand.IntN(len(names))
		names = names[n : n+1]
		t.Logf("only in the namespace %s, because of E2E_ROUTES=some", names[0])
	} else {
		names = append(names, withoutPolicies)
	}
	ts := newTenants(t, names...)
	if slices.Contains(names, policiesFromStart) {
		applyPolicies(t, policiesFromStart)
	}
	return ts
}

// takeSteps takes every upgrade of the route with a function that measures it, while tenants use the caches that each release can run.
// The last upgrade, to the head, loses no item, fails no request, recreates no pod and restarts nothing but agents in StatefulSets,
// whatever policies add. What an upgrade between two older releases loses is only reported: both are released.
func (ts *tenants) takeSteps(route upgrades.Route, upgrade func(upgrades.Step) upgrades.Step) (steps []upgrades.Step) {
	ts.t.Helper()
	var report strings.Builder
	lines := tabwriter.NewWriter(&report, 0, 0, 2, ' ', 0)
	fmt.Fprintln(lines, "upgrade\tseconds\tnamespace\tcache\titems lost\tpods recreated\trestarts\trequests failed\tpending")
	for i, edge := range route.Steps {
		last := i == len(route.Steps)-1
		ts.use()
		if last {
			ts.applyPoliciesAtTheLast()
		}
		step := upgrade(stepOf(edge))
		steps = append(steps, step)
		ts.settle()
		for _, cache := range ts.caches {
			fmt.Fprintf(lines, "%s > %s\t%.0f\t%s\n", step.From, step.To, step.Took.Seconds(), cache.line(ts.t.Context(), ts.t))
		}
		if last {
			ts.unharmed()
		} else {
			ts.create(edge.To.Version)
		}
	}
	must(ts.t, lines.Flush())
	if len(ts.caches) > 0 {
		ts.t.Logf("\n%s", report.String())
		saveReport(ts.t, map[string][]byte{"upgrades-policies-" + strings.Join(route.Versions(), "-") + ".txt": []byte(report.String())})
	}
	ts.updateByUsers()
	return steps
}

func (ts *tenants) applyPoliciesAtTheLast() {
	for _, tenant := range ts.namespaces {
		if tenant.namespace == policiesAtTheLast {
			applyPolicies(ts.t, tenant.namespace)
		}
	}
}

// updateByUsers lets the users of caches with a warm restart update memcached, after the upgrade. The pods keep what policies gave them,
// or never get it: they stay the same, and keep their items.
func (ts *tenants) updateByUsers() {
	ctx := ts.t.Context()
	var warm []*filledCache
	for _, cache := range ts.caches {
		if cache.key.Name == "warm" {
			patch := fmt.Sprintf(`{"spec":{"version":%q}}`, project.DefaultOperand)
			kubectl(ctx, ts.t, "patch", "memcached", cache.key.Name, "-n", cache.key.Namespace, "--type=merge", "-p", patch)
			warm = append(warm, cache)
		}
	}
	for _, cache := range warm {
		ts.t.Run("its user updates "+cache.key.String(), func(t *testing.T) { updatedByUser(ctx, t, cache) })
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

// unharmed fails the test if the users of a cache have noticed the upgrade.
func (ts *tenants) unharmed() {
	for _, cache := range ts.caches {
		ts.t.Run(cache.key.String(), func(t *testing.T) {
			cache.keptItems(t)
			cache.neverFailed(t)
			restarts := map[string]int32{"memcached": 0}
			if made := releasedCaches[cache.key.Name]; made.agent {
				restarts["agent"] = 0
				if made.stateful {
					restarts["agent"] = 1
				}
			}
			cache.keptPods(t.Context(), t, restarts)
		})
	}
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
	var cache cachev1alpha1.Memcached
	must(t, suite.cluster.Client.Get(ctx, c.key, &cache))
	var pending []string
	if cache.Status.Pending != nil {
		for _, change := range cache.Status.Pending.Changes {
			pending = append(pending, fmt.Sprintf("%s %s", change.Field, change.Class))
		}
	}
	return fmt.Sprintf("%s\t%s\t%d of %d\t%d of %d\t%v\t%d of %d\t%s", c.key.Namespace, c.key.Name, lost, len(c.nodes)*manyItems,
		len(c.nodes)-kept, len(c.nodes), restarts, failed, requests, strings.Join(pending, ", "))
}
