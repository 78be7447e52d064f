//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/olm/e2e/clients"
	"github.com/example/memcached-operator/olm/walk"
)

// The memory of a running cache is changed under load. Nothing restarts, no request fails, and memcached's own limit is
// always below the limit of its container.
func resizedLive(t *testing.T) {
	p := produce(t, "resized", 2, "workload: StatefulSet\nresources:\n  limits:\n    memory: 128Mi")
	servers := p.servers(clients.Access{})
	loads := p.use(servers)
	before := p.pods()
	small := p.cacheMemory("128Mi")

	start := time.Now()
	p.patch(`{"resources":{"limits":{"memory":"256Mi"}}}`)
	p.ready(2 * time.Minute)
	large := p.cacheMemory("256Mi")
	t.Logf("128Mi → 256Mi: %s for 2 pods", time.Since(start).Round(100*time.Millisecond))
	p.unnoticed("growing", loads...)

	// Fill the cache so that it must release memory, with items of 100 KiB.
	const size = 100 << 10
	stored := int(large) / size * 9 / 10
	p.storeAll(servers, stored, size)
	p.unnoticed("filling", loads...)

	start = time.Now()
	p.patch(`{"resources":{"limits":{"memory":"160Mi"}}}`)
	p.ready(2 * time.Minute)
	medium := p.cacheMemory("160Mi")
	t.Logf("256Mi → 160Mi: %s for 2 pods that were full", time.Since(start).Round(100*time.Millisecond))
	p.unnoticed("shrinking", loads...)

	p.same(before)
	if small >= medium || medium >= large {
		t.Errorf("memcached took %d bytes of 128Mi, %d of 160Mi, %d of 256Mi", small, medium, large)
	}
	for _, server := range servers {
		kept := stored - p.missing(server, stored, size)
		t.Logf("%s: %d of %d items of %d KiB are still there", server.Name(), kept, stored, size>>10)
		if int64(kept*size) < medium/2 {
			t.Errorf("%s released more memory than necessary", server.Name())
		}
	}
}

// cacheMemory waits until memcached in every pod has followed the given limit of its container, and returns how much memory
// it may take for items, in bytes.
func (p *production) cacheMemory(limit string) int64 {
	p.t.Helper()
	var most int64
	for name, pod := range p.pods() {
		for _, status := range pod.Status.ContainerStatuses {
			if status.Name == "memcached" && (status.Resources == nil || status.Resources.Limits.Memory().String() != limit) {
				p.t.Errorf("the container in %s has %+v, want a limit of %s", name, status.Resources, limit)
			}
		}
		must(p.t, walk.Within(p.t.Context(), 30*time.Second, "memcached in "+name+" to follow", func(ctx context.Context) error {
			taken, err := p.maxBytes(ctx, pod)
			if want := pod.Annotations["cache.example.com/cache-memory"]; err == nil && strconv.FormatInt(taken>>20, 10) != want {
				err = fmt.Errorf("its maxbytes is %d, want %s Mi", taken, want)
			}
			most = taken
			return err
		}))
		if limit := pod.Spec.Containers[0].Resources.Limits.Memory().Value(); most >= limit {
			p.t.Errorf("memcached in %s may take %d bytes for items, its container %d for all", name, most, limit)
		}
	}
	return most
}

// maxBytes returns how much memory memcached may take for items.
func (p *production) maxBytes(ctx context.Context, pod corev1.Pod) (int64, error) {
	conn, err := clients.Access{Network: p.network}.Open(ctx, pod.Status.PodIP)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	settings, err := conn.Stats("settings")
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(settings["maxbytes"], 10, 64)
}
