package diff_test

import (
	"testing"

	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/update/diff"
)

func TestMemoryAndResources(t *testing.T) {
	for name, c := range map[string]struct {
		field  string
		edit   func(given, wanted *diff.State, features *inputs.Features)
		want   diff.Class
		reason string
	}{
		"-m with the limit": {"arguments.cacheMemory", func(_, w *diff.State, _ *inputs.Features) {
			w.Resources.MemoryLimit, w.Arguments.CacheMemory = 256<<20, 180
		}, live, "memcached changes the memory for items while it runs; when the memory shrinks, memcached evicts the oldest items."},
		"-m with the limit, where pods cannot be resized": {"arguments.cacheMemory", func(_, w *diff.State, f *inputs.Features) {
			w.Resources.MemoryLimit, w.Arguments.CacheMemory, f.Resize = 256<<20, 180, false
		}, cold, "The memory limit changes too, and this cluster cannot change it on running pods: each pod is replaced and starts empty."},
		"-m with a lower limit, where the limit cannot be lowered": {"arguments.cacheMemory", func(_, w *diff.State, f *inputs.Features) {
			w.Resources.MemoryLimit, w.Arguments.CacheMemory, f.Shrink = 64<<20, 32, false
		}, cold, ""},
		"a lower limit, where it cannot be lowered": {"resources.limits.memory", func(_, w *diff.State, f *inputs.Features) {
			w.Resources.MemoryLimit, f.Shrink = 96<<20, false
		}, cold, "This cluster cannot lower the memory limit of running pods (Kubernetes 1.34 and later can): each pod is replaced and starts empty."},
		"a higher limit, where it cannot be lowered": {"resources.limits.memory", func(_, w *diff.State, f *inputs.Features) {
			w.Resources.MemoryLimit, f.Shrink = 256<<20, false
		}, live, ""},
		"a lower limit": {"resources.limits.memory", func(_, w *diff.State, _ *inputs.Features) {
			w.Resources.MemoryLimit = 96 << 20
		}, live, ""},
		"-m alone, where pods cannot be resized": {"arguments.cacheMemory", func(_, w *diff.State, f *inputs.Features) {
			w.Arguments.CacheMemory, f.Resize = 32, false
		}, live, ""},
		"-m with warm restart": {"arguments.cacheMemory", func(g, w *diff.State, _ *inputs.Features) {
			w.Arguments.CacheMemory, g.Arguments.MemoryFile, w.Arguments.MemoryFile = 32, "/m", "/m"
		}, cold, "With warm restart, memcached can neither change the memory for items while it runs nor keep the items when it starts with another size."},
		"-m when warm restart is turned on": {"arguments.cacheMemory", func(_, w *diff.State, _ *inputs.Features) {
			w.Arguments.CacheMemory, w.Arguments.MemoryFile = 32, "/m"
		}, cold, ""},
		"-m when warm restart is turned off": {"arguments.cacheMemory", func(g, w *diff.State, _ *inputs.Features) {
			w.Arguments.CacheMemory, g.Arguments.MemoryFile = 32, "/m"
		}, cold, ""},
		"the hash table when warm restart is turned on": {"arguments.hashPower", func(_, w *diff.State, _ *inputs.Features) {
			w.Arguments.HashPower, w.Arguments.MemoryFile = 21, "/m"
		}, cold, ""},
		"the hash table when warm restart is turned off": {"arguments.hashPower", func(g, w *diff.State, _ *inputs.Features) {
			w.Arguments.HashPower, g.Arguments.MemoryFile = 21, "/m"
		}, cold, ""},
		"a limit is added": {"resources.limits.cpu", func(g, _ *diff.State, _ *inputs.Features) {
			g.Resources.CPULimit = 0
		}, cold, "A request or limit cannot be added to a running pod or removed from it, only changed: each pod is replaced and starts empty."},
		"a limit is removed": {"resources.limits.cpu", func(_, w *diff.State, _ *inputs.Features) {
			w.Resources.CPULimit = 0
		}, cold, ""},
		"another quality-of-service class": {"resources.requests.memory", func(g, w *diff.State, _ *inputs.Features) {
			g.Resources.CPURequest, w.Resources.CPURequest = 1000, 1000
			w.Resources.MemoryRequest, g.AgentImage, w.AgentImage = w.Resources.MemoryLimit, "", ""
		}, cold, "The quality-of-service class of a running pod cannot be changed: each pod is replaced and starts empty."},
		"a CPU request that becomes the limit, while the request for memory stays lower": {"resources.requests.cpu", func(g, w *diff.State, _ *inputs.Features) {
			w.Resources.CPURequest, g.AgentImage, w.AgentImage = w.Resources.CPULimit, "", ""
		}, live, ""},
		"a request for memory that becomes the limit, without CPU": {"resources.requests.memory", func(g, w *diff.State, _ *inputs.Features) {
			g.Resources.CPURequest, g.Resources.CPULimit, g.AgentImage = 0, 0, ""
			w.Resources = diff.Resources{MemoryRequest: g.Resources.MemoryLimit, MemoryLimit: g.Resources.MemoryLimit}
			w.AgentImage = ""
		}, live, ""},
		"a CPU request that becomes the limit, without memory": {"resources.requests.cpu", func(g, w *diff.State, _ *inputs.Features) {
			g.Resources.MemoryRequest, g.Resources.MemoryLimit, g.AgentImage = 0, 0, ""
			w.Resources = diff.Resources{CPURequest: g.Resources.CPULimit, CPULimit: g.Resources.CPULimit}
			w.AgentImage = ""
		}, live, ""},
		"requests equal to the limits, beside an agent whose requests are lower": {"resources.requests.memory", func(g, w *diff.State, _ *inputs.Features) {
			g.Resources.CPURequest, w.Resources.CPURequest = 1000, 1000
			w.Resources.MemoryRequest = w.Resources.MemoryLimit
		}, live, ""},
		"where pods cannot be resized": {"resources.limits.memory", func(_, w *diff.State, f *inputs.Features) {
			w.Resources.MemoryLimit, f.Resize = 256<<20, false
		}, cold, "This cluster cannot resize running pods (it has no pods/resize): each pod is replaced and starts empty."},
	} {
		t.Run(name, func(t *testing.T) {
			given, wanted, features := state(diff.StatefulSet), state(diff.StatefulSet), inputs.Features{Resize: true, Shrink: true}
			c.edit(&given, &wanted, &features)
			got := one(t, given, wanted, features, c.field)
			if got.Class != c.want || c.reason != "" && got.Reason != c.reason {
				t.Errorf("got %s: %s\nwant %s: %s", got.Class, got.Reason, c.want, c.reason)
			}
		})
	}
}
