//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/memcached-operator/olm/e2e/clients"
	"github.com/example/memcached-operator/olm/walk"
)

// limitedToClients lets pods in two namespaces use a cache through the addresses of its pods and through its Service, and changes who may.
// Everybody may read its metrics, so the operator goes on updating it.
func limitedToClients(t *testing.T) {
	const inside, outside = "e2e-inside", "e2e-outside"
	namespaces(t, inside, outside)
	image, err := webImage()
	must(t, err)
	key := types.NamespacedName{Namespace: inside, Name: "limited"}
	p := produceAs(t, key, 2, "workload: StatefulSet\nmonitoring: {}\nservice: {}\nnetworkPolicy: {}")
	servers := p.servers(clients.Access{})
	p.storeAll(servers, wrongItems, smallItem)
	before := p.pods()

	memcacheds, metrics := p.addresses()
	near, far := map[string]visits{}, map[string]visits{}
	for name, address := range memcacheds {
		near[name] = startVisitor(t, inside, name, image, "use", address)
		far[name] = startVisitor(t, outside, name, image, "use", address)
	}
	scrapes := map[string]visits{"metrics": startVisitor(t, outside, "metrics", image, "visit", "http://"+metrics+"/metrics")}

	steady(t, "every pod of the namespace may connect", near, true)
	steady(t, "no pod of another namespace may connect", far, false)
	steady(t, "every pod may read metrics", scrapes, true)

	p.patch(`{"resources":{"limits":{"memory":"192Mi"}}}`)
	p.ready(2 * time.Minute)
	p.cacheMemory("192Mi")
	p.patch(`{"podLabels":{"example.com/tier":"fast"}}`)
	p.ready(2 * time.Minute)
	for name, visits := range near {
		if counts := visits(t); counts.Requests == 0 || counts.Failed > 0 {
			t.Errorf("live changes through the policy: %s: %d of %d requests failed: %v", name, counts.Failed, counts.Requests, counts.Failures)
		}
	}

	p.patch(`{"networkPolicy":{"clients":[{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"` + outside + `"}}}]}}`)
	p.ready(time.Minute)
	steady(t, "the pods that the cache names may connect", far, true)
	steady(t, "no other pod of its namespace may connect", near, false)
	steady(t, "every pod may still read metrics", scrapes, true)

	p.patch(`{"networkPolicy":null}`)
	p.ready(time.Minute)
	steady(t, "without a policy every pod may connect", near, true)
	steady(t, "without a policy every pod of another namespace may connect", far, true)
	p.same(before)
	p.complete(servers, wrongItems)
}

// visits returns the results of a visitor since its last call.
type visits = func(*testing.T) clients.Counts

// addresses returns addresses (host:port) of memcached, by what they belong to, and one of the metrics of a pod.
func (p *production) addresses() (memcacheds map[string]string, metrics string) {
	p.t.Helper()
	var service corev1.Service
	must(p.t, suite.cluster.Client.Get(p.t.Context(), p.key, &service))
	ip := p.pods()[p.podName(0)].Status.PodIP
	return map[string]string{
		"by-pod":     net.JoinHostPort(ip, clients.Port),
		"by-service": net.JoinHostPort(service.Spec.ClusterIP, clients.Port),
	}, net.JoinHostPort(ip, strconv.Itoa(metricsPort))
}

// steady waits until the visitors' requests have all the same result for some time: they are served, or they fail.
func steady(t *testing.T, what string, visitors map[string]visits, served bool) {
	t.Helper()
	const enough = 5
	for name, visits := range visitors {
		requests := 0
		must(t, walk.Within(t.Context(), time.Minute, what+": "+name, func(context.Context) error {
			counts := visits(t)
			wrong := counts.Failed
			if !served {
				wrong = counts.Requests - counts.Failed
			}
			if requests += counts.Requests; wrong > 0 {
				requests = 0
			}
			if requests < enough {
				return fmt.Errorf("%d of %d requests failed: %v", counts.Failed, counts.Requests, counts.Failures)
			}
			return nil
		}))
		t.Logf("%s: %s: %d requests in a row", what, name, requests)
	}
}
