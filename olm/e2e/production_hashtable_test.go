//go:build e2e

package e2e

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/example/memcached-operator/olm/e2e/clients"
	cachev1alpha1 "github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

// smallItems make memcached's hash table grow to 64 MiB: it doubles when there are more than 1.5 items for each of its entries of 8 bytes.
const smallItems = 6_500_000

var advice = regexp.MustCompile(`Set cacheMemory to (\d+Mi) and resources.limits.memory to at least (\d+Mi)`)

// A cache that is full of small items is not shrunk to a limit that its hash table does not fit: its items would be evicted, and the
// kubelet would refuse the limit or the kernel end memcached. What the message advises works.
func refusedShrink(t *testing.T) {
	onlyLocal(t)
	p := produce(t, "shrunk", 1, "workload: StatefulSet\nresources: {requests: {cpu: 50m, memory: 1200Mi}, limits: {memory: 1200Mi}}")
	servers := p.servers(clients.Access{})
	p.storeAll(servers, smallItems, 0)
	before := p.pods()

	p.patch(`{"resources":{"requests":{"memory":"192Mi"},"limits":{"memory":"192Mi"}}}`)
	message := p.says(2*time.Minute, cachev1alpha1.ConditionDegraded, cachev1alpha1.ReasonUpdateStuck, "hash table has 64Mi", "192Mi")
	p.holds(servers[0].Name(), smallItems)
	if missing := p.missing(servers[0], smallItems, 0); missing > 0 {
		t.Errorf("%d of %d items were lost", missing, smallItems)
	}

	found := advice.FindStringSubmatch(message)
	if found == nil {
		t.Fatalf("no limit is named: %s", message)
	}
	p.patch(fmt.Sprintf(`{"cacheMemory":%[1]q,"resources":{"requests":{"memory":%[2]q},"limits":{"memory":%[2]q}}}`, found[1], found[2]))
	p.ready(2 * time.Minute)
	p.cacheMemory(found[2])
	p.same(before)
	t.Logf("a cache of %d items keeps them: %s", smallItems, message)
}
