//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/memcached-operator/olm/e2e/clients"
	"github.com/example/memcached-operator/olm/walk"
	cachev1alpha1 "github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

// production is a cache whose pods are reached by their DNS names, as other pods do it.
type production struct {
	t       *testing.T
	key     types.NamespacedName
	size    int32
	network *clients.Network
}

// produce creates a cache from a spec in YAML, and waits until it is ready.
func produce(t *testing.T, name string, size int32, spec string) *production {
	t.Helper()
	return produceAs(t, inDefault(name), size, spec)
}

// produceAs is produce in any namespace. When the test ends it deletes the cache, so that others have its CPU.
func produceAs(t *testing.T, key types.NamespacedName, size int32, spec string) *production {
	t.Helper()
	request(t, key, size, spec)
	t.Cleanup(func() {
		if !t.Failed() { // Otherwise the state of the cluster is printed first.
			must(t, suite.cluster.Delete(context.Background(), "memcached", key.Name, "-n", key.Namespace, "--cascade=foreground", "--timeout=2m"))
		}
	})
	return produced(t, key, size)
}

// produced waits until a cache that was created is ready.
func produced(t *testing.T, key types.NamespacedName, size int32) *production {
	t.Helper()
	p := &production{t: t, key: key, size: size}
	cache := p.ready(2 * time.Minute)
	config := kubectl(t.Context(), t, "exec", "-n", p.key.Namespace, cache.Status.Nodes[0], "-c", "memcached", "--", "cat", "/etc/resolv.conf")
	var err error
	p.network, err = clients.NewNetwork(config)
	must(t, err)
	return p
}

// request creates a cache from a spec in YAML. Its pods cannot be reached before it is ready.
func request(t *testing.T, key types.NamespacedName, size int32, spec string) *production {
	t.Helper()
	manifest := filepath.Join(t.TempDir(), key.Name+".yaml")
	content := fmt.Sprintf("apiVersion: cache.example.com/v1alpha1\nkind: Memcached\nmetadata:\n  name: %s\nspec:\n  size: %d\n  %s\n",
		key.Name, size, strings.ReplaceAll(strings.TrimSpace(spec), "\n", "\n  "))
	must(t, os.WriteFile(manifest, []byte(content), 0o600))
	kubectl(t.Context(), t, "apply", "-n", key.Namespace, "-f", manifest)
	return &production{t: t, key: key, size: size}
}

// in returns the cache for use in a subtest.
func (p *production) in(t *testing.T) *production {
	part := *p
	part.t = t
	return &part
}

// ready waits until the cache is ready for its current spec.
func (p *production) ready(d time.Duration) *cachev1alpha1.Memcached {
	p.t.Helper()
	cache, err := suite.cluster.WaitReady(p.t.Context(), p.key, p.size, d)
	must(p.t, err)
	return cache
}

// saysCold waits until the cache is ready and says that a pod has started without its items. An agent that is slow to answer is asked again
// after ten seconds.
func (p *production) saysCold(ordinal int) {
	p.t.Helper()
	must(p.t, walk.Within(p.t.Context(), time.Minute, p.podName(ordinal)+" to be reported as empty", func(ctx context.Context) error {
		var cache cachev1alpha1.Memcached
		if err := suite.cluster.Client.Get(ctx, p.key, &cache); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(cache.Status.Conditions, cachev1alpha1.ConditionReady) || cache.Status.Endpoints[ordinal].Items != cachev1alpha1.ItemsCold {
			return fmt.Errorf("status.endpoints is %+v", cache.Status.Endpoints)
		}
		return nil
	}))
}

// patch merges JSON into the spec.
func (p *production) patch(spec string) {
	p.t.Helper()
	kubectl(p.t.Context(), p.t, "patch", "memcached", p.key.Name, "-n", p.key.Namespace, "--type=merge", "-p", `{"spec":`+spec+`}`)
}

// says waits until a condition of the cache is True for its current spec, with this reason and these parts of its message.
func (p *production) says(d time.Duration, condition, reason string, parts ...string) string {
	p.t.Helper()
	message := ""
	must(p.t, walk.Within(p.t.Context(), d, fmt.Sprintf("%s to be %s because of %s", p.key.Name, condition, reason), func(ctx context.Context) error {
		var cache cachev1alpha1.Memcached
		if err := suite.cluster.Client.Get(ctx, p.key, &cache); err != nil {
			return err
		}
		found := meta.FindStatusCondition(cache.Status.Conditions, condition)
		if found == nil || found.Status != metav1.ConditionTrue || found.ObservedGeneration != cache.Generation || found.Reason != reason {
			return fmt.Errorf("it is %+v", found)
		}
		for _, part := range parts {
			if !strings.Contains(found.Message, part) {
				return fmt.Errorf("%q is missing in %q", part, found.Message)
			}
		}
		message = found.Message
		return nil
	}))
	return message
}

// pods returns the cache's pods that are not being deleted, by name.
func (p *production) pods() map[string]corev1.Pod {
	p.t.Helper()
	pods := map[string]corev1.Pod{}
	for _, pod := range cachePods(p.t.Context(), p.t, p.key) {
		pods[pod.Name] = pod
	}
	return pods
}

// podName returns the name of the pod with an ordinal.
func (p *production) podName(ordinal int) string { return fmt.Sprintf("%s-%d", p.key.Name, ordinal) }

// same fails the test unless the pods are the same, the named containers were restarted once and no other was restarted.
func (p *production) same(before map[string]corev1.Pod, restarted ...string) {
	p.t.Helper()
	after := p.pods()
	for name, pod := range before {
		if after[name].UID != pod.UID {
			p.t.Errorf("pod %s was replaced", name)
			continue
		}
		earlier := containerRestarts(&pod)
		for _, container := range after[name].Status.ContainerStatuses {
			want := int32(0)
			if slices.Contains(restarted, container.Name) {
				want = 1
			}
			if got := container.RestartCount - earlier[container.Name]; got != want {
				p.t.Errorf("%s in %s was restarted %d times, want %d", container.Name, name, got, want)
			}
		}
	}
}

// hosts returns the DNS names of the pods from status.endpoints, by ordinal.
func (p *production) hosts() []string {
	p.t.Helper()
	var cache cachev1alpha1.Memcached
	must(p.t, suite.cluster.Client.Get(p.t.Context(), p.key, &cache))
	var hosts []string
	for _, endpoint := range cache.Status.Endpoints {
		hosts = append(hosts, endpoint.Host)
	}
	if len(hosts) != int(p.size) {
		p.t.Fatalf("status.endpoints has the hosts %v, want %d", hosts, p.size)
	}
	return hosts
}

// servers returns a client of each pod, by ordinal.
func (p *production) servers(access clients.Access) []*clients.Memcached {
	p.t.Helper()
	access.Network = p.network
	var servers []*clients.Memcached
	for _, host := range p.hosts() {
		servers = append(servers, clients.NewMemcached(host, host, access))
	}
	return servers
}

// storeAll stores items in all servers at the same time.
func (p *production) storeAll(servers []*clients.Memcached, n, size int) {
	p.t.Helper()
	failed := make([]error, len(servers))
	var group sync.WaitGroup
	for i, server := range servers {
		group.Go(func() { failed[i] = server.Store(n, size) })
	}
	group.Wait()
	must(p.t, errors.Join(failed...))
}

// missing returns how many items of a server are lost.
func (p *production) missing(server *clients.Memcached, n, size int) int {
	p.t.Helper()
	missing, err := server.Missing(n, size)
	must(p.t, err)
	return missing
}

// smallItem is the size of items, in bytes, where only their number matters.
const smallItem = 100

// complete fails the test unless all servers have all items, which are small.
func (p *production) complete(servers []*clients.Memcached, n int) {
	p.t.Helper()
	for _, server := range servers {
		if missing := p.missing(server, n, smallItem); missing > 0 {
			p.t.Errorf("%s has lost %d of %d items", server.Name(), missing, n)
		}
	}
}

// use starts a load on each of the servers until the test ends.
func (p *production) use(servers []*clients.Memcached) []*clients.Load {
	p.t.Helper()
	var loads []*clients.Load
	for _, server := range servers {
		loads = append(loads, p.ask(server))
	}
	return loads
}

// ask starts a load on a server until the test ends.
func (p *production) ask(server clients.Server) *clients.Load {
	l := clients.StartLoad([]clients.Server{server})
	p.t.Cleanup(func() {
		if err := l.Stop(); err != nil {
			p.t.Error(err)
		}
	})
	return l
}

// unnoticed fails the test if a request of the loads has failed since the last call.
func (p *production) unnoticed(what string, loads ...*clients.Load) {
	p.t.Helper()
	for _, l := range loads {
		counts := l.Counts()
		if counts.Requests == 0 || counts.Failed > 0 {
			p.t.Errorf("%s: %d of %d requests failed: %v", what, counts.Failed, counts.Requests, counts.Failures)
		} else {
			p.t.Logf("%s: %d requests, none failed, the slowest round took %s", what, counts.Requests, counts.Slowest.Round(time.Millisecond))
		}
	}
}
