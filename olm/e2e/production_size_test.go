//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/example/memcached-operator/hack/project"
	"github.com/example/memcached-operator/olm/e2e/clients"
	"github.com/example/memcached-operator/olm/walk"
)

// realItems is how many items each pod of a cache of real size holds. They are as small as a session's key with its value.
const realItems = 2_000_000

// Pods with millions of items each get a new version of memcached in place, under load, and keep every item.
func realSize(t *testing.T) {
	onlyLocal(t)
	p := produce(t, "large", 2, "workload: StatefulSet\nwarmRestart: true\nversion: "+firstMemcached+"\nresources: {requests: {cpu: 50m, memory: 768Mi}, limits: {memory: 768Mi}}")
	servers := p.servers(clients.Access{})
	start := time.Now()
	p.storeAll(servers, realItems, 0)
	filled := time.Since(start)
	p.use(servers)
	before, seen := p.pods(), p.watch(p.pods())

	start = time.Now()
	p.patch(fmt.Sprintf(`{"version":%q}`, project.DefaultOperand))
	must(t, walk.Within(t.Context(), 2*time.Minute, "every pod to restart with the new version", func(context.Context) error {
		for name := range before {
			if _, ready := seen.window(name); seen.ended() == nil && ready.IsZero() {
				return fmt.Errorf("%s was not restarted yet", name)
			}
		}
		return nil
	}))
	must(t, seen.ended())
	cache := p.ready(time.Minute)
	updated := time.Since(start)

	p.same(before, "memcached")
	start = time.Now()
	var table strings.Builder
	fmt.Fprintf(&table, "\n| pod | items kept | seconds until ready again | requests failed | for seconds |\n|---|---|---|---|---|\n")
	for i, server := range servers {
		p.holds(server.Name(), realItems)
		kept := realItems - p.missing(server, realItems, 0)
		if kept != realItems {
			t.Errorf("%s kept %d of %d items", server.Name(), kept, realItems)
		}
		p.runs(cache.Status.Endpoints[i], server.Name(), project.DefaultOperand)
		outcome, name := server.Outcome(), p.podName(i)
		seen.only(t, name, outcome.Failed)
		fmt.Fprintf(&table, "| %s | %d of %d | %.1f | %d | %.1f |\n", name, kept, realItems, seen.restart(name).Seconds(), len(outcome.Failed), outcome.Missed().Seconds())
	}
	t.Logf("%s -> %s: filled in %s, updated in %s, all items read in %s%s", firstMemcached, project.DefaultOperand,
		filled.Round(time.Second), updated.Round(time.Second), time.Since(start).Round(time.Second), table.String())
}

// holds fails the test unless memcached itself counts this many items at least, and has evicted none.
func (p *production) holds(host string, items int) {
	p.t.Helper()
	conn, err := clients.Access{Network: p.network}.Open(p.t.Context(), host)
	must(p.t, err)
	defer func() { must(p.t, conn.Close()) }()
	stats, err := conn.Stats("")
	must(p.t, err)
	if held, err := strconv.Atoi(stats["curr_items"]); err != nil || held < items || stats["evictions"] != "0" {
		p.t.Errorf("%s holds %s items, want %d, and has evicted %s: %v", host, stats["curr_items"], items, stats["evictions"], err)
	}
}
