//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/olm/e2e/clients"
	"github.com/example/memcached-operator/olm/walk"
	cachev1alpha1 "github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

// When a change replaces pods, the next pod is replaced when the one before has filled up again, or after the timeout.
func gated(t *testing.T) {
	p := produce(t, "gated", 2, "workload: StatefulSet\nhitRatioGate:\n  recoveredPercent: 90\n  timeout: 10m")
	fills := &atomic.Bool{}
	fills.Store(true)
	for _, host := range p.hosts() {
		p.ask(&reader{host: host, client: clients.Access{Network: p.network}.Spread(host), fills: fills})
	}
	p.hits(0.9, p.podName(0), p.podName(1))

	if t.Run("when the hit ratio has recovered", func(t *testing.T) { p.in(t).followsRecovery(fills) }) {
		t.Run("when the time is up", func(t *testing.T) { p.in(t).followsTimeout(fills) })
	}
}

// followsRecovery replaces the pods, and lets the first one fill up after the operator was seen to wait for it.
func (p *production) followsRecovery(fills *atomic.Bool) {
	before := p.pods()
	fills.Store(false)
	p.patch(`{"threads":3}`)
	first := p.replaced(before[p.podName(1)])
	p.says(30*time.Second, cachev1alpha1.ConditionProgressing, cachev1alpha1.ReasonNodesUpdating,
		p.podName(0)+" is replaced when the hit ratio of "+p.podName(1)+" is 90 % of that of the pods not replaced yet")
	p.stays(before[p.podName(0)], 5*time.Second)
	fills.Store(true)
	filled := time.Now()
	second := p.replaced(before[p.podName(0)])
	p.t.Logf("%s was created %s after %s was ready, and %s after it began to be filled",
		second.Name, second.CreationTimestamp.Sub(readyAt(first)), first.Name, second.CreationTimestamp.Sub(filled).Round(time.Second))
	p.ready(time.Minute)
}

// followsTimeout replaces the pods, and never lets the first one fill up.
func (p *production) followsTimeout(fills *atomic.Bool) {
	p.hits(0.9, p.podName(0), p.podName(1))
	const timeout = 20 * time.Second
	before := p.pods()
	fills.Store(false)
	p.patch(fmt.Sprintf(`{"threads":4,"hitRatioGate":{"timeout":"%s"}}`, timeout))
	first := p.replaced(before[p.podName(1)])
	second := p.replaced(before[p.podName(0)])
	// Both times are in whole seconds.
	waited := second.CreationTimestamp.Sub(readyAt(first))
	p.t.Logf("%s was created %s after %s was ready", second.Name, waited, first.Name)
	if waited < timeout-time.Second || waited > timeout+time.Minute {
		p.t.Errorf("%s followed after %s, want %s", second.Name, waited, timeout)
	}
	p.ready(time.Minute)
}

// hits waits until the agents of the pods report at least this hit ratio.
func (p *production) hits(atLeast float64, names ...string) {
	p.t.Helper()
	for _, name := range names {
		pod := p.pods()[name]
		must(p.t, walk.Within(p.t.Context(), 2*time.Minute, name+" to be filled", func(ctx context.Context) error {
			now, err := stateOf(ctx, &pod)
			if err == nil && (now.HitRatio == nil || *now.HitRatio < atLeast) {
				err = fmt.Errorf("its agent reports %d hits and %d misses", now.Hits, now.Misses)
			}
			return err
		}))
	}
}

// stays fails the test if a pod is replaced within the time.
func (p *production) stays(pod corev1.Pod, d time.Duration) {
	p.t.Helper()
	err := walk.Within(p.t.Context(), d, pod.Name+" to be as it was", func(context.Context) error {
		if now, there := p.pods()[pod.Name]; !there || now.UID != pod.UID {
			return nil
		}
		return errors.New("it is")
	})
	if err == nil {
		p.t.Fatalf("%s did not wait", pod.Name)
	}
}

// readyAt is when a pod became ready.
func readyAt(pod *corev1.Pod) time.Time {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// reader is an application that reads items from one pod. If it fills, it stores the missing ones.
type reader struct {
	host   string
	client *memcache.Client
	fills  *atomic.Bool
}

// Name implements clients.Server.
func (r *reader) Name() string { return r.host }

// Close implements clients.Server.
func (r *reader) Close() error { return r.client.Close() }

// Ask implements clients.Server. A reader that fills reads more items, so that its hits soon outweigh the earlier misses.
func (r *reader) Ask(_ context.Context, done func(error)) {
	const few, many = 5, 100
	count := few
	if r.fills.Load() {
		count = many
	}
	var keys []string
	for i := range count {
		keys = append(keys, fmt.Sprintf("item-%d", i))
	}
	found, err := r.client.GetMulti(keys)
	for _, key := range keys {
		if err == nil && found[key] == nil && r.fills.Load() {
			err = r.client.Set(&memcache.Item{Key: key, Value: []byte(key)})
		}
	}
	done(err)
}
