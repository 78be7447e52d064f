//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/example/memcached-operator/olm/e2e/observe"
	cachev1alpha1 "github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

// onNodes tests what happens to caches when something happens to a node. The operator and OLM may run on that node, too.
func onNodes(t *testing.T) {
	onlyLocal(t)
	for _, walk := range []struct {
		name string
		test func(*testing.T)
	}{
		{"pods are spread over nodes and zones", spreadOver},
		{"pods that no node takes are reported", unscheduled},
		{"the operator and its caches wait for a node of their architecture", otherArchitecture},
		{"a drain goes to its end and leaves enough pods", drained},
		{"a node that is lost and comes back changes nothing", lostAndBack},
		{"a node without power takes only its own items", withoutPower},
	} {
		t.Run(walk.name, func(t *testing.T) {
			t.Cleanup(func() { must(t, suite.cluster.DeleteResources(context.Background())) })
			settled(t)
			walk.test(t)
		})
	}
	settled(t)
}

// spreadOver creates caches with each preset of spec.topologySpread that prefers or requires a spread.
func spreadOver(t *testing.T) {
	for _, workload := range []string{"Deployment", "StatefulSet"} {
		name := "preferred-" + strings.ToLower(workload)
		request(t, inDefault(name), 4, "workload: "+workload).onEach(1)
	}
	request(t, inDefault("required"), 4, "workload: StatefulSet\ntopologySpread:\n  preset: RequireHosts").onEach(2)

	const zones = "workload: StatefulSet\ntopologySpread:\n  preset: RequireZones"
	early := request(t, inDefault("zoned-early"), 4, zones)
	t.Logf("no node is in a zone: %s", early.says(time.Minute, cachev1alpha1.ConditionDegraded, cachev1alpha1.ReasonNodesUnschedulable,
		"A pod cannot be scheduled", "didn't match pod topology spread constraints"))
	inZones(t)
	early.ready(2 * time.Minute)
	request(t, inDefault("zoned"), 4, zones).onEach(2)

	cordoned(t, otherNode)
	request(t, inDefault("preferred-crowded"), 2, "workload: StatefulSet").ready(2 * time.Minute)
	required := request(t, inDefault("required-crowded"), 2, "workload: StatefulSet\ntopologySpread:\n  preset: RequireHosts")
	t.Logf("one node is cordoned: %s", required.says(time.Minute, cachev1alpha1.ConditionDegraded, cachev1alpha1.ReasonNodesUnschedulable,
		"A pod cannot be scheduled", "didn't match pod topology spread constraints", "unschedulable"))
	uncordon(t.Context(), t, otherNode)
	required.onEach(1)
}

// inZones puts each node into a zone of its own until the test ends.
func inZones(t *testing.T) {
	t.Helper()
	const label = "topology.kubernetes.io/zone"
	for _, node := range nodeNames(t) {
		t.Cleanup(func() { kubectl(context.Background(), t, "label", "node", node, label+"-") })
		kubectl(t.Context(), t, "label", "node", node, label+"=of-"+node)
	}
}

// onEach waits until the cache is ready, and expects so many of its pods on each node at least.
func (p *production) onEach(least int) {
	p.t.Helper()
	p.ready(2 * time.Minute)
	counts := map[string]int{}
	for _, pod := range p.pods() {
		counts[pod.Spec.NodeName]++
	}
	p.t.Logf("%s has pods on %v", p.key.Name, counts)
	for _, node := range nodeNames(p.t) {
		if counts[node] < least {
			p.t.Errorf("%s has %d pods on %s, want %d at least", p.key.Name, counts[node], node, least)
		}
	}
}

// unscheduled asks for pods that no node takes. The cache says so until there is room.
func unscheduled(t *testing.T) {
	for _, workload := range []string{"Deployment", "StatefulSet"} {
		t.Run("a "+workload+" that asks for too much memory", func(t *testing.T) {
			p := request(t, inDefault("large-"+strings.ToLower(workload)), 2, "workload: "+workload+"\nresources:\n  limits:\n    memory: 900Gi")
			p.unschedulable(0, "Insufficient memory")
			p.patch(`{"resources":{"limits":{"memory":"128Mi"}}}`)
			p.ready(2 * time.Minute)
		})
	}
	t.Run("all nodes are cordoned", func(t *testing.T) {
		s := splitByNode(produce(t, "unscheduled", 2, "workload: StatefulSet"))
		p := s.p
		cordoned(t, nodeNames(t)...)
		kubectl(t.Context(), t, "delete", "pod", p.podName(s.gone[0]), "-n", p.key.Namespace)
		p.unschedulable(1, "unschedulable")
		p.says(time.Minute, cachev1alpha1.ConditionAvailable, cachev1alpha1.ReasonSomeNodesReady, "1 of 2 pods are ready")
		uncordon(t.Context(), t, nodeNames(t)...)
		p.ready(2 * time.Minute)
		s.emptied()
		s.stayed("one of two pods had no node")
	})
}

// unschedulable waits until conditions and columns say that a pod has no node, and why, and how many pods are ready.
func (p *production) unschedulable(ready int, why string) {
	p.t.Helper()
	message := p.says(time.Minute, cachev1alpha1.ConditionDegraded, cachev1alpha1.ReasonNodesUnschedulable, "A pod cannot be scheduled: 0/2 nodes are available", why)
	p.t.Logf("%s: %s", p.key.Name, message)
	p.notReady(time.Minute, int32(ready))
	row := p.row()
	contains(p.t, row, cachev1alpha1.ReasonNodesUnschedulable, message)
	if fields := strings.Fields(row); fields[1] != fmt.Sprint(p.size) || fields[2] != fmt.Sprint(ready) || fields[3] != "False" {
		p.t.Errorf("`kubectl get memcached` shows %v", fields)
	}
}

// drained drains a node as an administrator does, with everything that runs there.
func drained(t *testing.T) {
	p := produce(t, "drained", 4, "workload: StatefulSet\ndisruption: {}")
	s := splitByNode(p)
	ready, err := observe.WatchPods(t.Context(), suite.cluster.Client, ofCache(p.key)...)
	must(t, err)
	t.Cleanup(func() { uncordon(context.Background(), t, otherNode) })

	start := time.Now()
	kubectl(t.Context(), t, "drain", otherNode, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=3m")
	took := time.Since(start)
	s.emptied()
	p.ready(2 * time.Minute)
	seen, err := ready.Stop()
	must(t, err)
	t.Logf("kubectl drain took %s for %d of %d pods; at least %d were ready, at most %d existed", took.Round(100*time.Millisecond), len(s.gone), p.size, seen.Least, seen.Most)
	if seen.Least < int(p.size)-1 {
		t.Errorf("only %d pods were ready for a time, want all but one always", seen.Least)
	}
	for name, pod := range p.pods() {
		if pod.Spec.NodeName == otherNode {
			t.Errorf("%s is on the node that was drained", name)
		}
	}
	s.stayed("a drain of the other node")
	uncordon(t.Context(), t, otherNode)
}

// lostAndBack stops the kubelet of a node, whose pods go on. The cluster counts them as not ready then, but they serve.
func lostAndBack(t *testing.T) {
	p := produce(t, "lost", 4, "workload: StatefulSet")
	s := splitByNode(p)
	t.Cleanup(func() { must(t, control(context.Background(), "resume", otherNode)) })

	start := time.Now()
	must(t, control(t.Context(), "pause", otherNode))
	left := len(s.stay)
	message := p.notReady(2*time.Minute, int32(left))
	t.Logf("after %s: %s", time.Since(start).Round(time.Second), message)
	p.says(time.Minute, cachev1alpha1.ConditionAvailable, cachev1alpha1.ReasonSomeNodesReady, fmt.Sprintf("%d of 4 pods are ready", left))
	p.stays(s.before[p.podName(s.gone[0])], 10*time.Second)
	must(t, control(t.Context(), "resume", otherNode))
	p.ready(2 * time.Minute)
	s.stayed("the loss of the other node")
	p.unnoticed("the loss of their node", s.goneLoads...)
	p.complete(s.servers, nodeItems)
	p.same(s.before)
}

// withoutPower ends everything on a node, with what it has in memory, and starts it again.
func withoutPower(t *testing.T) {
	caches := map[string]*nodeSplit{}
	for name, spec := range map[string]string{"unpowered": "workload: StatefulSet", "unpowered-warm": "workload: StatefulSet\nwarmRestart: true"} {
		caches[name] = splitByNode(produce(t, name, 4, spec))
	}
	t.Cleanup(func() { must(t, control(context.Background(), "start", otherNode)) })

	must(t, control(t.Context(), "kill", otherNode))
	start := time.Now()
	must(t, control(t.Context(), "start", otherNode))
	for name, s := range caches {
		s.emptied()
		s.p.ready(3 * time.Minute)
		t.Logf("%s: %d of 4 pods lost their items, and all were ready %s after the power was back", name, len(s.gone), time.Since(start).Round(time.Second))
		for _, ordinal := range s.gone {
			s.p.saysCold(ordinal)
		}
		s.stayed("the other node without power")
	}
}
