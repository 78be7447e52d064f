package rollout_test

import (
	"testing"

	"github.com/example/memcached-operator/operator/memcached/update/rollout"
)

// A full -m 1024 has a hash table of 64 MiB, which stays when the memory for items becomes 122 MiB.
func TestAHashTableThatDoesNotFitTheNewLimitKeepsTheItems(t *testing.T) {
	size := func(memory, spare int64) templateOptions {
		return withoutWarmRestart().with(func(s *templateOptions) { s.memory, s.spare = memory, spare })
	}
	c := newCluster(t, 2, size(1024, 256))
	items, uids := c.simulatedPod(1).items, c.uids()
	for ordinal := range 2 {
		c.simulatedPod(ordinal).hashBytes = 64 << 20
	}
	c.want(size(122, 70))
	step := c.next()
	expect(t, step, rollout.Wait, 1, "cache-1 keeps its memory limit, because memcached's hash table has 64Mi and does not become smaller while memcached runs: "+
		"with 122Mi for items, memcached may need 244Mi, but the limit is to be 192Mi. Set cacheMemory to 122Mi and resources.limits.memory to at least 244Mi, or delete the pod")
	expectStuck(t, step)
	c.run(20)
	if m := c.simulatedPod(1); m.memory != 1024 || m.items < items || c.uids() != uids {
		t.Errorf("items were lost: %d MiB, %d of %d items", m.memory, m.items, items)
	}
	c.want(size(122, 122)) // As the message says.
	c.run(60)
	c.expectDone()
	if c.uids() != uids || c.simulatedPod(1).memory != 122 {
		t.Errorf("the pods have %d MiB for items", c.simulatedPod(1).memory)
	}
}

// The agent lowers the memory also while the operator cannot reach it.
func TestAShrinkWaitsForAnAgentThatReportsTheHashTable(t *testing.T) {
	c := newCluster(t, 2, withoutWarmRestart().with(moreMemory))
	c.simulatedPod(1).agentUnreachable = true
	c.want(withoutWarmRestart())
	step := c.next()
	expect(t, step, rollout.Wait, 1, "cache-1 keeps its memory limit, because its agent cannot be reached")
	expectStuck(t, step)
	c.simulatedPod(1).agentUnreachable = false
	c.run(60)
	c.expectDone()
}

func TestAHashTableThatFitsOrIsNotKnownDelaysNothing(t *testing.T) {
	for name, bytes := range map[string]int64{"of an older agent": 0, "of a cache of the wanted size": 8 << 20, "that is new": 512 << 10} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 2, withoutWarmRestart().with(func(s *templateOptions) { s.memory, s.spare = 256, 80 }))
			for ordinal := range 2 {
				c.simulatedPod(ordinal).hashBytes = bytes
			}
			c.want(withoutWarmRestart().with(func(s *templateOptions) { s.memory, s.spare = 122, 80 }))
			if got := summarise(c.run(60)); got != "Patch 1, Resize 1, Patch 1, Patch 0, Resize 0, Patch 0" {
				t.Errorf("made the steps %s", got)
			}
			c.expectDone()
		})
	}
}
