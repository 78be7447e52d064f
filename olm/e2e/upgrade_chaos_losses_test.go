//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/example/memcached-operator/olm/e2e/clients"
)

// outages returns the times in which a pod of a cache did not answer.
func (p *usedPod) outages() []clients.Outage {
	if p.memcached == nil {
		return nil
	}
	return p.memcached.Outcome().Outages()
}

// restarts returns how often each container was restarted while the pod counted.
func (p *usedPod) restarts() map[string]int {
	restarts := map[string]int{}
	for container, count := range containerRestarts(&p.latest) {
		restarts[container] = int(count - containerRestarts(&p.first)[container])
	}
	return restarts
}

// keptItems fails the test if the pod lost items.
func (p *usedPod) keptItems(t *testing.T) {
	t.Helper()
	switch {
	case p.err == nil && p.lost > 0:
		t.Errorf("%s lost %d of %d items although %s had power", p.first.Name, p.lost, chaosItems, p.first.Spec.NodeName)
	case p.err != nil && !p.restarting():
		t.Errorf("the items of %s could not be counted: %v", p.first.Name, p.err)
	}
}

// restarting tells whether the pod was restarting when its node lost its power, so that nobody knows whether it would have its items again.
func (p *usedPod) restarting() bool { return p.lostPower && len(p.outages()) > 0 && p.err != nil }

// restartedOnlyFor fails the test if a container was restarted more often than for these updates.
func (p *usedPod) restartedOnlyFor(t *testing.T, updates map[string]int) {
	t.Helper()
	for container, got := range p.restarts() {
		if got > updates[container] {
			t.Errorf("%s in %s was restarted %d times, want at most %d", container, p.first.Name, got, updates[container])
		}
	}
}

// answered fails the test if the pod did not answer while memcached was not restarted. A restart that is under way when the node loses its
// power is not reported yet.
func (p *usedPod) answered(t *testing.T) {
	t.Helper()
	down, restarts := p.outages(), p.restarts()["memcached"]
	if p.restarting() {
		restarts++
	}
	switch {
	case p.memcached == nil && p.counts.Failed > 0:
		t.Errorf("%s: %d of %d requests failed: %v", p.first.Name, p.counts.Failed, p.counts.Requests, p.counts.Failures)
	case len(down) > restarts:
		t.Errorf("%s did not answer at %v, but memcached was restarted %d times; the first failure is: %v",
			p.first.Name, down, restarts, p.memcached.Outcome().Failure)
	}
}

// oneAtATime fails the test if two pods of the warm cache did not answer at the same time, although both had power.
func oneAtATime(t *testing.T, all []*usedPod, warm string) {
	t.Helper()
	for i, a := range all {
		for _, b := range all[i+1:] {
			if a.owner != warm || b.owner != warm || a.first.Name == b.first.Name {
				continue
			}
			for _, x := range a.outages() {
				for _, y := range b.outages() {
					if x.Overlaps(y) {
						t.Errorf("%s and %s did not answer at the same time: %v and %v", a.first.Name, b.first.Name, x, y)
					}
				}
			}
		}
	}
}

// usedTable shows what happened to every pod.
func usedTable(t *testing.T, all []*usedPod) string {
	t.Helper()
	var out strings.Builder
	lines := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(lines, "pod\tnode\tuntil\titems lost with power\trequests\tfailed\toutages\tlongest\trestarts")
	for _, p := range all {
		until, longest := "the end", time.Duration(0)
		if p.lostPower {
			until = "its node lost its power"
		}
		for _, o := range p.outages() {
			longest = max(longest, o.To.Sub(o.From))
		}
		lost := fmt.Sprintf("%d of %d", p.lost, chaosItems)
		switch {
		case p.memcached == nil:
			lost = "-"
		case p.err != nil:
			lost = "restarting, not counted"
		}
		fmt.Fprintf(lines, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%.1fs\t%v, before %v\n", p.first.Name, p.first.Spec.NodeName, until, lost,
			p.counts.Requests, p.counts.Failed, len(p.outages()), longest.Seconds(), containerRestarts(&p.latest), containerRestarts(&p.first))
	}
	if err := lines.Flush(); err != nil {
		t.Error(err)
	}
	return out.String()
}
