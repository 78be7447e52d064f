package rollout

import (
	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/memcached/desired/sizing"
	"github.com/example/memcached-operator/operator/memcached/update/diff"
)

const (
	kibibyte = 1 << 10
	mebibyte = 1 << 20
)

// hashTableTooLarge waits before the memory limit of a running memcached is lowered to less than it will need. memcached never makes
// its hash table smaller while it runs: after cache_memlimit from 1024 to 122 MiB it kept 64 MiB for the table, and 191 MiB were
// resident. The items would be evicted, and the kubelet would refuse the resize, or the kernel kill memcached. Agents before
// 0.4.0 do not report the table.
func (p *planner) hashTableTooLarge(m *member, d *difference) *Step {
	switch {
	case !d.shrinks(m) || d.class == diff.Cold || m.idle(p.Now) || m.degraded(p.Now):
		return nil
	case m.agent == nil:
		return stuck(m, "%s keeps its memory limit, because its agent cannot be reached to report the size of memcached's hash table: "+
			"allow the operator to connect to port %d of the pod", m.name(), agentapi.MetricsPort)
	}
	wanted, limit := d.wanted.Arguments, d.wanted.Resources.MemoryLimit
	request := sizing.Request{
		CacheMemory: wanted.CacheMemory * mebibyte, MaxConnections: wanted.MaxConnections, MaxItemSize: wanted.MaxItemSize,
		Threads: wanted.Threads, WarmRestart: wanted.MemoryFile != "", TLS: wanted.TLS,
	}
	need, usual := sizing.NeedWith(request, m.agent.HashBytes), sizing.NeedWith(request, 0)
	if need == usual || need.Total()*kibibyte <= limit {
		return nil
	}
	return stuck(m, "%[1]s keeps its memory limit, because memcached's hash table has %[2]dMi and does not become smaller while memcached runs: "+
		"with %[3]dMi for items, memcached may need %[4]dMi, but the limit is to be %[5]dMi. Set cacheMemory to %[3]dMi and "+
		"resources.limits.memory to at least %[4]dMi, or delete the pod: it is created again with the new limit, and starts empty",
		m.name(), m.agent.HashBytes/mebibyte, wanted.CacheMemory, (need.Total()*kibibyte+mebibyte-1)/mebibyte, limit/mebibyte)
}
