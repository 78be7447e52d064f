//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/hack/project"
	"github.com/example/memcached-operator/olm/e2e/clients"
	"github.com/example/memcached-operator/olm/walk"
)

const (
	// hangTime is how long a program hangs: long enough for the pod to be not ready, and not for a liveness probe.
	hangTime = 40 * time.Second
	// silentItems is how many items each pod holds meanwhile.
	silentItems = 5000
)

// memcached and the agent of a pod hang and go on, and memcached is killed. Nobody makes that worse: no other pod loses an item or fails a
// request, and an update waits until the pod is ready again.
func silent(t *testing.T) {
	p := produce(t, "silent", 3, "workload: StatefulSet\nwarmRestart: true\nversion: "+firstMemcached)
	servers := p.servers(clients.Access{})
	p.storeAll(servers, silentItems, smallItem)
	loads := p.use(servers)

	t.Run("memcached hangs", func(t *testing.T) {
		p.in(t).hangs(memcachedProgram, servers, loads[1:], `{"image":"docker.io/library/memcached:1.6.38","version":"1.6.38"}`, "1.6.38")
		if counts := loads[0].Counts(); counts.Failed == 0 {
			t.Errorf("memcached of %s did not hang: it has answered %d requests", p.podName(0), counts.Requests)
		}
	})
	t.Run("the agent hangs", func(t *testing.T) {
		newest := fmt.Sprintf(`{"image":null,"version":%q}`, project.DefaultOperand)
		p.in(t).hangs(agentProgram, servers, loads, newest, project.DefaultOperand)
	})
	t.Run("memcached is killed", func(t *testing.T) { p.in(t).killed(servers, loads) })
}

// hangs lets a program in the first pod hang, and updates the cache meanwhile. The update must come later, and keep all items.
func (p *production) hangs(hanging program, servers []*clients.Memcached, unaware []*clients.Load, update, version string) {
	p.t.Helper()
	for _, load := range unaware {
		load.Counts()
	}
	before, start := p.pods(), time.Now()
	goOn := hanging.hang(p.t, before[p.podName(0)])
	p.becomes(p.podName(0), false, hangTime)
	p.t.Logf("%s is not ready after %s", p.podName(0), time.Since(start).Round(time.Second))
	p.patch(update)
	p.rests(before, time.Until(start.Add(hangTime)))
	p.unnoticed("other requests", unaware...)
	goOn()

	p.becomes(p.podName(0), true, time.Minute)
	waitVersion(p.t.Context(), p.t, p.key, int(p.size), version)
	p.same(before, "memcached")
	p.complete(servers, silentItems)
}

// killed ends memcached in one pod. Only its items are gone, as the page says.
func (p *production) killed(servers []*clients.Memcached, loads []*clients.Load) {
	t, victim := p.t, p.podName(1)
	for _, load := range loads {
		load.Counts()
	}
	before, runs := p.pods(), p.runIDs()
	killed := before[victim]
	restarts := containerRestarts(&killed)["memcached"]
	memcachedProgram.kill(t, killed)
	must(t, walk.Within(t.Context(), 2*time.Minute, "another memcached in "+victim, func(context.Context) error {
		if pod := p.pods()[victim]; containerRestarts(&pod)["memcached"] == restarts {
			return errors.New("it was not restarted")
		}
		return nil
	}))
	p.becomes(victim, true, time.Minute)
	if after := p.runIDs(); after[victim] == runs[victim] {
		t.Errorf("the agent of %s has not noticed: %s", victim, runs[victim])
	}
	p.saysCold(1)
	if missing := p.missing(servers[1], silentItems, smallItem); missing != silentItems {
		t.Errorf("%s has lost %d of %d items, and the page says that it loses all", victim, missing, silentItems)
	}
	must(t, servers[1].Store(silentItems, smallItem))
	p.complete(servers, silentItems)
	p.unnoticed("memcached of another pod was killed", loads[0], loads[2])
	delete(before, victim)
	p.same(before)
	p.same(map[string]corev1.Pod{victim: killed}, "memcached")
}
