//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blang/semver/v4"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/olm/e2e/clients"
	"github.com/example/memcached-operator/olm/walk"
	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
	cachev1alpha1 "github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

// releasedCache is a cache that a release can run.
type releasedCache struct {
	// since is the first release that can run it.
	since string
	size  int32
	// spec is the rest of the spec, in YAML. Its Secrets are called NAME-tls and NAME-users.
	spec string
	// stateful tells whether it is a StatefulSet, agent whether its pods have an agent.
	stateful, agent bool
	// users tells whether clients log in, tls whether they use TLS.
	users, tls bool
}

// releasedCaches are caches by name. Together they use everything that the releases offer.
var releasedCaches = map[string]releasedCache{
	"three": {since: "0.1.0", size: 3},
	"one":   {since: "0.2.0", size: 1},
	"production": {since: "0.3.0", size: 2, stateful: true, agent: true, users: true, tls: true, spec: `
workload: StatefulSet
warmRestart: true
tls: {secretName: production-tls, clientCertificates: Required}
auth: {secretName: production-users}
monitoring: {}
networkPolicy: {}
service: {}
disruption: {maxUnavailable: 1}
hitRatioGate: {recoveredPercent: 50, timeout: 20s}
resources: {requests: {cpu: 10m, memory: 256Mi}, limits: {memory: 256Mi}}`},
	"warm": {since: "0.3.0", size: 1, stateful: true, agent: true, spec: `
workload: StatefulSet
warmRestart: true
version: 1.6.18
resources: {requests: {cpu: 10m, memory: 128Mi}, limits: {memory: 128Mi}}`},
	"stateful": {since: "0.3.0", size: 2, stateful: true, agent: true, spec: `
workload: StatefulSet
resources: {requests: {cpu: 10m, memory: 128Mi}, limits: {memory: 128Mi}}`},
	"monitored": {since: "0.3.0", size: 2, agent: true, users: true, spec: `
monitoring: {}
auth: {secretName: monitored-users}
resources: {requests: {cpu: 10m, memory: 128Mi}, limits: {memory: 128Mi}}`},
	"plain": {since: "0.3.0", size: 2, spec: `
resources: {requests: {cpu: 10m, memory: 128Mi}, limits: {memory: 128Mi}}`},
}

// tenants have caches in namespaces, and use them while the operator is upgraded.
type tenants struct {
	t          *testing.T
	namespaces []*tenant
	// created are caches that need not be ready yet.
	created []types.NamespacedName
	// caches and traffic are those of the last call of use.
	caches  []*filledCache
	traffic *clients.Load
}

// tenant has caches in a namespace.
type tenant struct {
	t         *testing.T
	namespace string
	network   *clients.Network
	// clients are the ways to use the caches, by name.
	clients map[string]clientsOf
}

// clientsOf returns a client of the memcached in a pod of a cache.
type clientsOf func(*corev1.Pod) *clients.Memcached

// newTenants creates namespaces, and deletes them when the test ends.
func newTenants(t *testing.T, names ...string) *tenants {
	t.Helper()
	namespaces(t, names...)
	ts := &tenants{t: t}
	for _, name := range names {
		ts.namespaces = append(ts.namespaces, &tenant{t: t, namespace: name, clients: map[string]clientsOf{}})
	}
	return ts
}

// create creates the caches that the version can run and the namespaces do not have yet.
func (ts *tenants) create(version semver.Version) {
	ts.t.Helper()
	for _, tenant := range ts.namespaces {
		for _, name := range slices.Sorted(maps.Keys(releasedCaches)) {
			if tenant.clients[name] == nil && semver.MustParse(releasedCaches[name].since).LE(version) {
				ts.created = append(ts.created, tenant.create(name))
			}
		}
	}
}

// waitReady waits until all created caches are ready.
func (ts *tenants) waitReady() {
	ts.t.Helper()
	for _, key := range ts.created {
		_, err := suite.cluster.WaitReady(ts.t.Context(), key, releasedCaches[key.Name].size, 3*time.Minute)
		must(ts.t, err)
	}
	ts.created = nil
}

// fill stores items in all caches, as soon as they are ready.
func (ts *tenants) fill() []*filledCache {
	ts.t.Helper()
	ts.waitReady()
	var caches []*filledCache
	for _, tenant := range ts.namespaces {
		caches = append(caches, tenant.fill()...)
	}
	return caches
}

// use fills all caches, and starts a load on every pod.
func (ts *tenants) use() {
	ts.t.Helper()
	ts.caches = ts.fill()
	ts.traffic = useCaches(ts.t, ts.caches)
}

// settle waits until all caches are updated, ends the load, and counts the items. What is lost is counted also if the wait fails.
func (ts *tenants) settle() {
	ts.t.Helper()
	if err := waitUpdated(ts.t.Context(), ts.caches); err != nil {
		ts.t.Error(err)
	}
	must(ts.t, ts.traffic.Stop())
	for _, cache := range ts.caches {
		cache.count(ts.t)
	}
}

// create creates a cache and its Secrets.
func (n *tenant) create(name string) types.NamespacedName {
	n.t.Helper()
	cache, key := releasedCaches[name], types.NamespacedName{Namespace: n.namespace, Name: name}
	access := clients.Access{}
	if cache.users {
		access.User, access.Password = "app", "secret-of-the-app"
		writeSecretIn(n.t, types.NamespacedName{Namespace: n.namespace, Name: name + "-users"}, userLines(access.User+":"+access.Password))
	}
	if cache.tls {
		certificate := certificateIn(n.t, agenttesting.NewAuthority(n.t), key, time.Hour)
		writeSecretIn(n.t, types.NamespacedName{Namespace: n.namespace, Name: name + "-tls"}, certificate)
		access.TLS = clientTLS(n.t, certificate)
	}
	object := &unstructured.Unstructured{}
	must(n.t, yaml.Unmarshal(fmt.Appendf(nil, "spec:\n  size: %d%s\n", cache.size, strings.ReplaceAll(cache.spec, "\n", "\n  ")), &object.Object))
	object.SetGroupVersionKind(cachev1alpha1.GroupVersion.WithKind("Memcached"))
	object.SetNamespace(key.Namespace)
	object.SetName(key.Name)
	must(n.t, suite.cluster.Client.Create(n.t.Context(), object))
	n.clients[name] = func(pod *corev1.Pod) *clients.Memcached {
		if !cache.stateful {
			return inPlainText(n.t.Context(), n.t, pod, access)
		}
		access.Network = n.names(pod)
		host := fmt.Sprintf("%s.%s-nodes.%s.svc", pod.Name, name, n.namespace)
		return clients.NewMemcached(pod.Name, host, access)
	}
	return key
}

// names looks up names as a pod of the namespace does.
func (n *tenant) names(pod *corev1.Pod) *clients.Network {
	n.t.Helper()
	if n.network == nil {
		config := kubectl(n.t.Context(), n.t, "exec", "-n", n.namespace, pod.Name, "-c", "memcached", "--", "cat", "/etc/resolv.conf")
		var err error
		n.network, err = clients.NewNetwork(config)
		must(n.t, err)
	}
	return n.network
}

// fill stores items in all caches.
func (n *tenant) fill() []*filledCache {
	n.t.Helper()
	var all []*filledCache
	for _, name := range slices.Sorted(maps.Keys(n.clients)) {
		cache := &filledCache{key: types.NamespacedName{Namespace: n.namespace, Name: name}}
		cache.fill(n.t.Context(), n.t, n.clients[name])
		all = append(all, cache)
	}
	return all
}

// waitUpdated waits until all caches are updated.
func waitUpdated(ctx context.Context, caches []*filledCache) error {
	return walk.Within(ctx, 2*time.Minute, "all caches to be updated", func(ctx context.Context) error {
		var missing []error
		for _, cache := range caches {
			if err := updated(ctx, cache.key); err != nil {
				missing = append(missing, fmt.Errorf("%s: %w", cache.key, err))
			}
		}
		return errors.Join(missing...)
	})
}

// updated returns nil if a cache is ready, no rollout of its Deployment is under way, and each pod of its StatefulSet has the
// agent of the current operator.
func updated(ctx context.Context, key types.NamespacedName) error {
	var cache unstructured.Unstructured
	cache.SetGroupVersionKind(cachev1alpha1.GroupVersion.WithKind("Memcached"))
	if err := suite.cluster.Client.Get(ctx, key, &cache); err != nil {
		return err
	}
	if err := walk.Ready(cache); err != nil {
		return err
	}
	if !releasedCaches[key.Name].stateful {
		return rolledOut(ctx, key)
	}
	operator, err := onlyOperatorPod(ctx)
	if err != nil {
		return err
	}
	_, digest, _ := strings.Cut(operator.Spec.Containers[0].Image, "@")
	var pods corev1.PodList
	if err := suite.cluster.Client.List(ctx, &pods, ofCache(key)...); err != nil {
		return err
	}
	for i := range pods.Items {
		if err := runsAgent(&pods.Items[i], digest); err != nil {
			return err
		}
	}
	return nil
}

// runsAgent returns nil if the agent of a pod has the image with the digest, and runs it.
func runsAgent(pod *corev1.Pod, digest string) error {
	for _, container := range pod.Spec.Containers {
		if container.Name == "agent" && !strings.HasSuffix(container.Image, digest) {
			return fmt.Errorf("the agent of %s has the image %s", pod.Name, container.Image)
		}
	}
	for _, status := range pod.Status.ContainerStatuses {
		if !status.Ready || status.Name == "agent" && !strings.HasSuffix(status.ImageID, digest) {
			return fmt.Errorf("%s in %s runs %s, and is ready: %t", status.Name, pod.Name, status.ImageID, status.Ready)
		}
	}
	return nil
}

// rolledOut returns nil if all pods of a Deployment are of its current template, else what is missing.
func rolledOut(ctx context.Context, key types.NamespacedName) error {
	var deployment appsv1.Deployment
	if err := suite.cluster.Client.Get(ctx, key, &deployment); err != nil {
		return err
	}
	status, want := deployment.Status, *deployment.Spec.Replicas
	if status.ObservedGeneration != deployment.Generation {
		return errors.New("its Deployment was not observed yet")
	}
	if status.Replicas != want || status.UpdatedReplicas != want || status.AvailableReplicas != want {
		return fmt.Errorf("of %d pods there are %d, %d are updated and %d available", want, status.Replicas, status.UpdatedReplicas, status.AvailableReplicas)
	}
	return nil
}
