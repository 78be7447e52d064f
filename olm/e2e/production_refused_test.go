//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/memcached-operator/olm/e2e/clients"
	"github.com/example/memcached-operator/olm/walk"
	cachev1alpha1 "github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

// refusalsNamespace is the namespace in which a policy refuses one object of each cache, and of the Application.
const refusalsNamespace = "e2e-refusals"

// retried is how long after its cause is gone a refused object may be missing: the operator tries once in a minute.
const retried = 75 * time.Second

// refusedObjects are the objects that the policy refuses to caches.
var refusedObjects = []struct {
	cache string
	size  int32
	// refused is what the policy refuses.
	operation, kind string
	// has is the spec before the policy is there, and wants are the fields after that, as JSON.
	has, wants string
	// made is what the operator makes of that all the same: kubectl get prints a line for each.
	made string
}{
	{"no-budget", 2, "CREATE", "PodDisruptionBudget", "", `"disruption":{}`, "pods -l app.kubernetes.io/instance=no-budget,changed=meanwhile"},
	{"no-service", 1, "CREATE", "Service", "", `"service":{}`, "pods -l app.kubernetes.io/instance=no-service,changed=meanwhile"},
	{"no-network", 1, "CREATE", "NetworkPolicy", "", `"networkPolicy":{}`, "pods -l app.kubernetes.io/instance=no-network,changed=meanwhile"},
	{"no-deletion", 1, "DELETE", "Service", "service: {}", `"service":null`, "pods -l app.kubernetes.io/instance=no-deletion,changed=meanwhile"},
	{"no-update", 1, "UPDATE", "StatefulSet", "", `"service":{}`, "services no-update"},
}

// A policy refuses one object of each cache, and the Ingress of an Application. The condition says which and why, the operator does all else,
// and no client notices. When the policy is gone, everything becomes as it was asked for.
func refusedByPolicy(t *testing.T) {
	image, err := webImage()
	must(t, err)
	namespace(t, refusalsNamespace)
	var caches []*refusedCache
	for _, refused := range refusedObjects {
		caches = append(caches, &refusedCache{production: request(t, inRefusals(refused.cache), refused.size, "workload: StatefulSet\n"+refused.has)})
	}
	makeApplication(t, refusalsNamespace, "no-ingress", webSpec(image, ""))
	waitReady(t, refusalsNamespace, "no-ingress")
	visitor := startVisitor(t, refusalsNamespace, "visitor", image, "visit", "http://no-ingress."+refusalsNamespace+".svc:8080/")
	for _, cache := range caches {
		cache.fill()
	}

	permit := refuseObjects(t)
	for i, refused := range refusedObjects {
		caches[i].patch(`{"podLabels":{"changed":"meanwhile"},` + refused.wants + `}`)
	}
	kubectl(t.Context(), t, "patch", "application", "no-ingress", "-n", refusalsNamespace, "--type=merge",
		"-p", `{"spec":{"ingress":{"host":"refused.example.com"},"env":[{"name":"GREETING","value":"hello"}]}}`)
	for i, refused := range refusedObjects {
		caches[i].refused(refused.operation, refused.kind)
		printsLines(t, int(refused.size), strings.Fields(refused.made)...)
	}
	withoutIngress(t)

	permit()
	start := time.Now()
	for _, cache := range caches {
		cache.ready(time.Until(start.Add(retried)))
	}
	for i, cache := range caches {
		if refused := refusedObjects[i]; refused.operation == "DELETE" {
			printsLines(t, 0, refused.kind, refused.cache, "--ignore-not-found")
		} else {
			printsLines(t, 1, refused.kind, refused.cache)
		}
		cache.unharmed()
	}
	waitReady(t, refusalsNamespace, "no-ingress")
	printsLines(t, 1, "ingress", "no-ingress")
	t.Logf("everything is there %s after the policy has gone", time.Since(start).Round(time.Second))
	served(t, visitor)
}

func inRefusals(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: refusalsNamespace, Name: name}
}

// refusedCache is a cache with items and clients. A policy refuses one of its objects.
type refusedCache struct {
	*production
	servers []*clients.Memcached
	loads   []*clients.Load
	before  map[string]corev1.Pod
}

// fill waits until the cache is ready, stores items and starts clients.
func (c *refusedCache) fill() {
	c.t.Helper()
	c.production = produced(c.t, c.key, c.size)
	c.servers = c.production.servers(clients.Access{})
	c.storeAll(c.servers, wrongItems, smallItem)
	c.loads = c.use(c.servers)
	c.before = c.pods()
}

// refused waits until condition and event say which object is refused, and why.
func (c *refusedCache) refused(operation, kind string) {
	c.t.Helper()
	object, why := kind+" "+c.key.Name, "the platform team refuses to "+operation+" this "+kind
	message := c.says(30*time.Second, cachev1alpha1.ConditionDegraded, cachev1alpha1.ReasonRejected, object, why)
	c.t.Logf("%s: %s", c.key.Name, message)
	c.said(cachev1alpha1.ReasonRejected, why)
	c.unharmed()
}

// unharmed fails the test unless the pods are as before, with all items, and no client has noticed anything.
func (c *refusedCache) unharmed() {
	c.t.Helper()
	c.same(c.before)
	c.complete(c.servers, wrongItems)
	c.unnoticed("clients of "+c.key.Name, c.loads...)
}

// refuseObjects creates the policy, and waits until it applies. The function that it returns removes it, and waits until it
// does not apply.
func refuseObjects(t *testing.T) (permit func()) {
	t.Helper()
	file := filepath.Join(suite.root, "olm", "e2e", "testdata", "refusals.yaml")
	remove := func() { must(t, suite.cluster.Delete(context.Background(), "-f", file)) }
	t.Cleanup(remove)
	kubectl(t.Context(), t, "apply", "-f", file)
	applies := func(want bool) {
		must(t, walk.Within(t.Context(), 30*time.Second, fmt.Sprintf("the policy to apply: %t", want), func(ctx context.Context) error {
			_, err := suite.cluster.Kubectl(ctx, "create", "service", "clusterip", "no-service", "--tcp=80", "-n", refusalsNamespace, "--dry-run=server")
			if refused := err != nil && strings.Contains(err.Error(), "the platform team refuses to CREATE this Service"); refused == want {
				return nil
			}
			return errors.Join(errors.New("it is not so for a Service"), err)
		}))
	}
	applies(true)
	return func() {
		remove()
		applies(false)
	}
}

// withoutIngress waits until the Application says that its Ingress is refused, and why, and has the new variable all the same.
func withoutIngress(t *testing.T) {
	t.Helper()
	waitReason(t, refusalsNamespace, "no-ingress", "Rejected")
	waitRollout(t, refusalsNamespace, "no-ingress")
	waitAvailable(t, refusalsNamespace, "no-ingress")
	message := kubectl(t.Context(), t, "get", "application", "no-ingress", "-n", refusalsNamespace, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].message}`)
	t.Logf("no-ingress: %s", message)
	contains(t, message, "Ingress no-ingress", "the platform team refuses to CREATE this Ingress")
	must(t, walk.Within(t.Context(), time.Minute, "the new variable", func(ctx context.Context) error {
		variables, err := suite.cluster.Kubectl(ctx, "get", "pods", "-n", refusalsNamespace, "-l", instance("no-ingress"), "-o",
			"jsonpath={.items[*].spec.containers[*].env[?(@.name==\"GREETING\")].value}")
		return errors.Join(err, differs("hello", variables))
	}))
}

// printsLines waits until kubectl get prints this many names in the namespace.
func printsLines(t *testing.T, count int, get ...string) {
	t.Helper()
	must(t, walk.Within(t.Context(), 30*time.Second, strings.Join(get, " "), func(ctx context.Context) error {
		names, err := suite.cluster.Kubectl(ctx, append([]string{"get", "-n", refusalsNamespace, "-o", "name"}, get...)...)
		return errors.Join(err, differs(count, len(strings.Fields(names))))
	}))
}

func differs(want, got any) error {
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("-want +got:\n%s", diff)
	}
	return nil
}

// served fails the test unless a visitor was always served since the last call.
func served(t *testing.T, visitor visits) {
	t.Helper()
	counts := visitor(t)
	if counts.Requests == 0 || counts.Failed > 0 {
		t.Errorf("%d of %d requests of the visitor failed: %s", counts.Failed, counts.Requests, strings.Join(counts.Failures, "; "))
	}
	t.Logf("the visitor: %d requests, %d failed, the slowest took %s", counts.Requests, counts.Failed, counts.Slowest)
}
