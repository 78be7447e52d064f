//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/example/memcached-operator/olm/e2e/clients"
	"github.com/example/memcached-operator/olm/walk"
	cachev1alpha1 "github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

const (
	// fewConnections is the least that a cache may have.
	fewConnections = 64
	// crowdSize is how many of them clients can have: memcached keeps 9, and 5 for each of its four threads, it listens with one more if there
	// is IPv6, and the agent has one. What asks the agent may have some more for a moment.
	crowdSize, asking = fewConnections - 9 - 5*4 - 2, 3
	// changedWhileFull is how long a change of a pod without free connections may take: the operator waits for a minute whether it gets ready.
	changedWhileFull = 150 * time.Second
)

// Clients take all connections of a pod. It is not ready then, and nothing restarts it. Who is connected is served, and changes go on after a
// minute: a live one restarts nothing, and an update of memcached keeps all items.
func fullPod(t *testing.T) {
	p := produce(t, "full", 2, fmt.Sprintf("workload: StatefulSet\nwarmRestart: true\nmonitoring: {}\nmaxConnections: %d", fewConnections))
	servers := p.servers(clients.Access{})
	p.storeAll(servers, wrongItems, smallItem)
	other := p.use(servers[1:])
	before, full := p.pods(), p.podName(0)

	crowd := p.crowd(p.hosts()[0])
	must(t, crowd[0].Close())
	p.tellsRefusals(full)
	crowd = append(crowd[1:], p.fillUp(p.hosts()[0])...)
	start := time.Now()
	p.becomes(full, false, hangTime)
	t.Logf("%s is not ready after %s", full, time.Since(start).Round(time.Second))
	connected := p.ask(crowd[0])

	p.patch(`{"podLabels":{"changed":"while-full"}}`)
	p.says(30*time.Second, cachev1alpha1.ConditionProgressing, cachev1alpha1.ReasonNodesUpdating, full+" is not ready yet")
	must(t, walk.Within(t.Context(), changedWhileFull, "the label on "+full, func(context.Context) error {
		if pod := p.pods()[full]; pod.Labels["changed"] != "while-full" {
			return errors.New("it does not have it")
		}
		return nil
	}))
	t.Logf("%s was changed after %s without free connections", full, time.Since(start).Round(time.Second))
	p.same(before)
	for _, conn := range crowd[1:] {
		conn.Ask(t.Context(), func(err error) {
			if err != nil {
				t.Errorf("%s is not served: %v", conn.Name(), err)
			}
		})
	}
	p.unnoticed("a client that is connected, and those of the other pod", connected, other[0])
	must(t, connected.Stop())

	p.patch(`{"image":"docker.io/library/memcached:1.6.38","version":"1.6.38"}`)
	waitVersion(t.Context(), t, p.key, int(p.size), "1.6.38")
	p.same(before, "memcached")
	p.complete(servers, wrongItems)
}

// crowd opens all connections that clients can have.
func (p *production) crowd(host string) []*clients.Conn {
	p.t.Helper()
	crowd := p.fillUp(host)
	p.t.Logf("%s serves %d clients", host, len(crowd))
	if len(crowd) > crowdSize+1 || len(crowd) < crowdSize-asking {
		p.t.Errorf("%s serves %d clients, want %d", host, len(crowd), crowdSize)
	}
	return crowd
}

// fillUp opens connections until no more are served. A probe may have one for a moment.
func (p *production) fillUp(host string) (open []*clients.Conn) {
	p.t.Helper()
	const enough = 100
	refusals, told := 0, false
	for refusals < enough && len(open) < fewConnections {
		conn, err := clients.Access{Network: p.network}.Open(p.t.Context(), host)
		must(p.t, err)
		answer, err := conn.Command("version")
		if err == nil && strings.HasPrefix(answer, "VERSION") {
			p.t.Cleanup(func() { _ = conn.Close() })
			open = append(open, conn)
			continue
		}
		refusals, told = refusals+1, told || answer == "ERROR Too many open connections"
		_ = conn.Close()
	}
	if !told {
		p.t.Errorf("%s has not told clients that it has too many connections", host)
	}
	return open
}

// tellsRefusals waits until the metrics of a pod tell that clients were refused.
func (p *production) tellsRefusals(name string) {
	p.t.Helper()
	pod := p.pods()[name]
	address, stop, err := reach(p.t.Context(), &pod, metricsPort)
	must(p.t, err)
	defer stop()
	must(p.t, walk.Within(p.t.Context(), 30*time.Second, "the metrics of refused connections", func(ctx context.Context) error {
		body, err := get(ctx, "http://"+address+"/metrics")
		if err != nil {
			return err
		}
		page := metrics(body)
		refused, limit := page.value("memcached_connections_rejected_total"), page.value("memcached_max_connections")
		if refused == "" || refused == "0" || limit != fmt.Sprint(fewConnections) {
			return fmt.Errorf("%q connections were refused, of %q", refused, limit)
		}
		p.t.Logf("the metrics: %s connections were refused, %s are open", refused, page.value("memcached_current_connections"))
		return nil
	}))
}

// value returns the value of a metric without labels, empty if it is not there.
func (m metrics) value(name string) string {
	for line := range strings.Lines(string(m)) {
		if value, found := strings.CutPrefix(line, name+" "); found {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
