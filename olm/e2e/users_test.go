//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/olm/e2e/clients"
	"github.com/example/memcached-operator/olm/e2e/observe"
	"github.com/example/memcached-operator/olm/e2e/upgrades"
	"github.com/example/memcached-operator/olm/walk"
	"github.com/example/memcached-operator/olm/walk/forward"
)

// itemsPerPod items of itemSize bytes are stored in every cache pod before an upgrade, and read afterwards.
const itemsPerPod, itemSize = 100, 100

// users have resources of every kind that the operator manages, in the namespace default, and use them all the time. They must not notice
// what happens to the operator.
type users struct {
	t      *testing.T
	offers func(ctx context.Context, version string) (*walk.Offer, error)
	kinds  []schema.GroupVersionKind // of all their resources
	caches map[types.UID]*clients.Memcached
	load   *clients.Load
	// observed is the only namespace that may not change, all if it is empty.
	observed string
	before   *observe.State
}

// newUsers creates the examples of the installed version, and the tutorials' cache of three pods, which works with every
// version.
func newUsers(t *testing.T, version string) *users {
	t.Helper()
	return newUsersOf(t, version, suite.cluster.Offer)
}

// newUsersOf is newUsers where offers tells what a version offers.
func newUsersOf(t *testing.T, version string, offers func(context.Context, string) (*walk.Offer, error)) *users {
	t.Helper()
	u := &users{t: t, offers: offers}
	kubectl(t.Context(), t, "apply", "-n", "default", "-f", sample("example-memcached.yaml"))
	_, err := suite.cluster.WaitReady(t.Context(), inDefault("example-memcached"), 3, 2*time.Minute)
	must(t, err)
	u.offer(version)
	t.Cleanup(func() {
		if u.load != nil {
			must(t, u.load.Stop())
		}
	})
	return u
}

// offer creates the version's examples of the kinds that the users do not have yet, and uses everything from then on.
func (u *users) offer(version string) {
	u.t.Helper()
	ctx := u.t.Context()
	offer, err := u.offers(ctx, version)
	must(u.t, err)
	for _, example := range offer.Examples {
		kind := example.GroupVersionKind()
		if slices.Contains(u.kinds, kind) {
			continue
		}
		u.kinds = append(u.kinds, kind)
		example.SetNamespace("default")
		if kind.Kind == "Application" {
			// The examples request no CPU, so their pods would get next to none while others need it, and clients would wait.
			must(u.t, unstructured.SetNestedField(example.Object, "50m", "spec", "resources", "requests", "cpu"))
		}
		must(u.t, suite.cluster.Client.Create(ctx, &example))
		must(u.t, suite.cluster.WaitReadyResource(ctx, kind, client.ObjectKeyFromObject(&example), 3*time.Minute))
	}
	u.use()
}

// use stores items in all cache pods, and starts a new load on every pod.
func (u *users) use() {
	u.t.Helper()
	if u.load != nil {
		must(u.t, u.load.Stop())
	}
	var pods corev1.PodList
	must(u.t, suite.cluster.Client.List(u.t.Context(), &pods, client.InNamespace("default"), client.MatchingLabels{"app.kubernetes.io/managed-by": "memcached-operator"}))
	u.caches = map[types.UID]*clients.Memcached{}
	var servers []clients.Server
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp != nil {
			continue
		}
		if pod.Labels["app.kubernetes.io/name"] == "memcached" {
			server := clients.NewMemcached(pod.Name, u.address(pod, memcachedPort), clients.Access{})
			must(u.t, server.Store(itemsPerPod, itemSize))
			u.caches[pod.UID] = server
			servers = append(servers, server)
			continue
		}
		port := 8080
		if ports := pod.Spec.Containers[0].Ports; len(ports) > 0 {
			port = int(ports[0].ContainerPort)
		}
		servers = append(servers, clients.NewWeb(pod.Name, "http://"+u.address(pod, port)+"/"))
	}
	servers = append(servers, u.services()...)
	if len(u.caches) < 5 {
		u.t.Fatalf("%d cache pods are there, want five of two caches at least", len(u.caches))
	}
	for _, server := range servers {
		u.answers(server)
	}
	u.load = clients.StartLoad(servers)
	u.remember()
}

// answers waits for the first answer of a server, because a new Service works a moment after its pods are ready. From then on
// every request counts.
func (u *users) answers(server clients.Server) {
	u.t.Helper()
	must(u.t, walk.Within(u.t.Context(), 30*time.Second, server.Name()+" to answer", func(ctx context.Context) error {
		var failed error
		server.Ask(ctx, func(err error) { failed = errors.Join(failed, err) })
		return failed
	}))
}

// services returns the Services in front of the pods, which users of applications use. This machine can reach only those of
// the local cluster.
func (u *users) services() []clients.Server {
	u.t.Helper()
	var services corev1.ServiceList
	must(u.t, suite.cluster.Client.List(u.t.Context(), &services, client.InNamespace("default"), client.MatchingLabels{"app.kubernetes.io/managed-by": "memcached-operator"}))
	var servers []clients.Server
	for _, service := range services.Items {
		if address := service.Spec.ClusterIP; suite.local && address != corev1.ClusterIPNone {
			port := strconv.Itoa(int(service.Spec.Ports[0].Port))
			servers = append(servers, clients.NewWeb("service "+service.Name, "http://"+net.JoinHostPort(address, port)+"/"))
		}
	}
	return servers
}

// remember records the current state, with which notice compares.
func (u *users) remember() {
	u.t.Helper()
	var err error
	u.before, err = observe.Take(u.t.Context(), suite.cluster.Client, u.observed, u.kinds)
	must(u.t, err)
	u.load.Counts()
}

// notice returns what users have noticed since remember, without the duration of the upgrade.
func (u *users) notice() upgrades.Step {
	u.t.Helper()
	ctx := u.t.Context()
	step := upgrades.Step{Items: len(u.caches) * itemsPerPod, Pods: len(u.before.Pods), Resources: len(u.before.Resources)}
	for _, server := range u.caches {
		missing, err := server.Missing(itemsPerPod, itemSize)
		if err != nil {
			u.t.Logf("items are lost: %v", err)
		}
		step.Lost += missing
	}
	after, err := observe.Take(ctx, suite.cluster.Client, u.observed, u.kinds)
	must(u.t, err)
	changes := u.before.Compare(after)
	step.Recreated, step.Restarted, step.Changed, step.Templates = changes.Recreated(), changes.Restarts, len(changes.Resources), len(changes.Templates)
	counts := u.load.Counts()
	step.Requests, step.Failed, step.Slowest = counts.Requests, counts.Failed, counts.Slowest
	if !step.Harmless() {
		u.t.Logf("noticed: %+v, failures: %v", changes, counts.Failures)
		for _, name := range changes.Resources {
			u.t.Logf("%s (-before +after):\n%s", name, cmp.Diff(u.before.Resources[name], after.Resources[name]))
		}
		for _, name := range changes.Templates {
			u.t.Logf("pod template of %s (-before +after):\n%s", name, cmp.Diff(u.before.Templates[name], after.Templates[name]))
		}
	}
	return step
}

// untouched fails the test if users have noticed anything since remember or since the last call.
func (u *users) untouched(what string) {
	u.t.Helper()
	if step := u.notice(); !step.Harmless() {
		u.t.Errorf("%s was noticed: %+v", what, step)
	} else {
		u.t.Logf("%s: %d requests, none failed, the slowest took %s; %d items and %d pods are as they were", what, step.Requests, step.Slowest.Round(time.Millisecond), step.Items, step.Pods)
	}
}

// lookedAfter waits until the current operator, of this version, has reconciled every resource of its kinds, is idle, and
// reports all resources ready.
func (u *users) lookedAfter(version string) {
	u.t.Helper()
	for _, kind := range u.reconciled(version) {
		for _, key := range u.resources(kind) {
			must(u.t, suite.cluster.WaitReadyResource(u.t.Context(), kind, key, time.Minute))
		}
	}
}

// reconciled waits until the current operator, of this version, has reconciled every resource of its kinds, and is idle. It
// returns the kinds.
func (u *users) reconciled(version string) []schema.GroupVersionKind {
	u.t.Helper()
	ctx := u.t.Context()
	offer, err := u.offers(ctx, version)
	must(u.t, err)
	reader := newMetricsReader(u.t)
	for _, kind := range offer.Kinds {
		resources := u.resources(kind)
		must(u.t, walk.Within(ctx, 2*time.Minute, "version "+version+" to reconcile every "+kind.Kind, func(ctx context.Context) error {
			pod, err := onlyOperatorPod(ctx)
			if err != nil {
				return err
			}
			metrics, err := reader.read(ctx, pod)
			if err != nil {
				return err
			}
			return idle(metrics, strings.ToLower(kind.Kind), len(resources))
		}))
	}
	return offer.Kinds
}

// resources returns the users' resources of a kind.
func (u *users) resources(kind schema.GroupVersionKind) []types.NamespacedName {
	u.t.Helper()
	var resources unstructured.UnstructuredList
	resources.SetGroupVersionKind(kind)
	must(u.t, suite.cluster.Client.List(u.t.Context(), &resources))
	var keys []types.NamespacedName
	for _, resource := range resources.Items {
		keys = append(keys, client.ObjectKeyFromObject(&resource))
	}
	return keys
}

// idle returns nil if a controller has reconciled n resources and has nothing to do, else why not.
func idle(metrics metrics, controller string, n int) error {
	var missing []error
	if got := metrics.sum("controller_runtime_reconcile_total", `controller="`+controller+`"`); got < float64(n) {
		missing = append(missing, fmt.Errorf("%s: %v of %d resources reconciled", controller, got, n))
	}
	for _, busy := range []string{"workqueue_depth", "controller_runtime_active_workers"} {
		if got := metrics.sum(busy, `controller="`+controller+`"`); got > 0 {
			missing = append(missing, fmt.Errorf("%s: %s is %v", controller, busy, got))
		}
	}
	return errors.Join(missing...)
}

// address returns the address of a port of a pod until the test ends.
func (u *users) address(pod corev1.Pod, port int) string {
	u.t.Helper()
	address, stop, err := reach(u.t.Context(), &pod, port)
	must(u.t, err)
	u.t.Cleanup(stop)
	return address
}

// reach returns the address (host:port) of a port of a pod. On the local cluster this machine is the pod's node, and connects
// directly. Elsewhere the API server forwards. If that ends, it is not started again, so requests fail and are counted.
func reach(ctx context.Context, pod *corev1.Pod, port int) (address string, stop func(), err error) {
	if suite.local {
		return net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(port)), func() {}, nil
	}
	return forward.Open(ctx, suite.cluster.Config, client.ObjectKeyFromObject(pod), port)
}
