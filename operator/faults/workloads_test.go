//go:build faults

package faults_test

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/faults/oracle"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/manager"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

const (
	image    = "docker.io/library/memcached@sha256:f2ec63287d2a20993885a55d630756819317e76ddd404f90000953e80c188237"
	newImage = "docker.io/library/memcached@sha256:c29847751abb41f4c268c84fb3087fee05d4edcbda44409ccb5086e26148e8a7"
	agent    = "quay.io/example/memcached-operator:v1"
)

var images = inputs.Images{Memcached: map[string]string{"1.6.18": image, "1.6.45": newImage}, Default: "1.6.18", Agent: agent}

// versionOf returns the version of memcached in an image.
func versionOf(of string) string { return map[string]string{image: "1.6.18", newImage: "1.6.45"}[of] }

// workload is what users do with the operator.
type workload struct {
	name    string
	options func(*manager.Options)
	steps   []step
	removes bool // Whether users delete what they had.

	// prepare makes what there is before the operator starts, and prepared says whether all of it is there.
	prepare, prepared func(*scene) error

	// drops are the objects that users stop wanting while their owner stays.
	drops []string
}

// step is something that users do, and what they wait for.
type step struct {
	name  string
	sizes []int64 // How many pods are asked for from now on.
	do    func(*scene) error
	done  func(*scene) error
}

// createCache creates a cache with a spec in YAML, and waits until it is ready.
func createCache(size int64, spec string) step {
	return step{
		name: "create", sizes: []int64{size}, done: ready("memcacheds", "cache", size),
		do: func(s *scene) error {
			return s.create("apiVersion: cache.example.com/v1alpha1\nkind: Memcached\nmetadata: {name: cache}\nspec:\n  " + spec)
		},
	}
}

// editCache changes the cache and waits until it is ready with that many pods.
func editCache(name string, size int64, patch string) step {
	return step{
		name: name, sizes: []int64{size}, done: ready("memcacheds", "cache", size),
		do: func(s *scene) error { return s.edit("memcacheds", "cache", patch) },
	}
}

func createApplication(size int64, spec string) step {
	return step{
		name: "create", sizes: []int64{size}, done: ready("applications", "web", size),
		do: func(s *scene) error {
			return s.create("apiVersion: app.example.com/v1alpha1\nkind: Application\nmetadata: {name: web}\nspec:\n  image: registry.example.com/web:1\n  " + spec)
		},
	}
}

func editApplication(name string, size int64, patch string) step {
	return step{
		name: name, sizes: []int64{size}, done: ready("applications", "web", size),
		do: func(s *scene) error { return s.edit("applications", "web", patch) },
	}
}

func removeAll(resource, name string) step {
	return step{name: "delete", do: func(s *scene) error { return s.remove(resource, name) }, done: nothing}
}

const everything = `workload: StatefulSet
  size: 2
  service: {}
  disruption: {maxUnavailable: 1}
  networkPolicy: {}`

// foreignBudget creates an object of somebody else that has the name of one that the cache does not ask for.
func foreignBudget(s *scene) error {
	return s.create("apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata:\n  name: cache\n  labels: {app.kubernetes.io/managed-by: memcached-operator, " +
		oracle.ForeignLabel + ": theirs}\nspec: {maxUnavailable: 1, selector: {matchLabels: {theirs: theirs}}}")
}

// foreignService creates a Service of somebody else that has the name of the one that the cache asks for.
func foreignService(s *scene) error {
	return s.create("apiVersion: v1\nkind: Service\nmetadata:\n  name: cache\n  labels: {" + oracle.ForeignLabel + ": theirs}\n" +
		"spec: {selector: {theirs: theirs}, ports: [{port: 11211}]}")
}

// workloads are all of them.
var workloads = append(releasedWorkloads(), []*workload{
	{name: "deployment", steps: []step{createCache(2, "size: 2")}},
	{name: "statefulset", steps: []step{createCache(2, everything)}},
	{name: "scale", steps: []step{
		createCache(1, "size: 1"), editCache("grow", 3, `{"spec":{"size":3}}`), editCache("shrink", 2, `{"spec":{"size":2}}`),
	}},
	{name: "scale-statefulset", steps: []step{
		createCache(1, "workload: StatefulSet\n  size: 1"), editCache("grow", 3, `{"spec":{"size":3}}`), editCache("shrink", 2, `{"spec":{"size":2}}`),
	}},
	{name: "live", steps: []step{
		createCache(2, "workload: StatefulSet\n  size: 2"), editCache("label", 2, `{"spec":{"podLabels":{"team":"shop"}}}`),
	}},
	{name: "cold", steps: []step{createCache(2, "size: 2"), editCache("connections", 2, `{"spec":{"maxConnections":2048}}`)}},
	{name: "cold-statefulset", steps: []step{
		createCache(2, "workload: StatefulSet\n  size: 2"), editCache("connections", 2, `{"spec":{"maxConnections":2048}}`),
	}},
	{name: "parts", drops: []string{"services/cache", "poddisruptionbudgets/cache", "networkpolicies/cache"}, steps: []step{
		createCache(2, everything), editCache("without", 2, `{"spec":{"service":null,"disruption":null,"networkPolicy":null}}`),
	}},
	{name: "rollback", steps: []step{
		createCache(2, "size: 2"),
		{
			name: "an unknown version", do: func(s *scene) error { return s.edit("memcacheds", "cache", `{"spec":{"version":"9.9.9"}}`) },
			done: condition("memcacheds", "cache", "Degraded", "True", ""),
		},
		editCache("back", 2, `{"spec":{"version":null}}`),
	}},
	{name: "foreign-budget", prepare: foreignBudget, steps: []step{createCache(1, "size: 1"), editCache("grow", 2, `{"spec":{"size":2}}`)}},
	{name: "foreign-service", prepare: foreignService, steps: []step{{
		name: "create", sizes: []int64{2}, do: createCache(2, everything).do, done: condition("memcacheds", "cache", "Degraded", "True", "NameConflict"),
	}}},
	{name: "delete-foreground", removes: true, steps: []step{createCache(2, everything), {
		name: "delete", done: nothing,
		do: func(s *scene) error {
			return cluster.Client.Delete(s.Context(), s.named("memcacheds", "cache"), client.PropagationPolicy(metav1.DeletePropagationForeground))
		},
	}}},
	{name: "delete", removes: true, steps: []step{createCache(2, everything), removeAll("memcacheds", "cache")}},
	{name: "recreate", removes: true, steps: []step{createCache(2, "size: 2"), removeAll("memcacheds", "cache"), createCache(2, "size: 2")}},

	{name: "application", steps: []step{createApplication(2, "replicas: 2\n  ingress: {host: NAMESPACE.example.com}")}},
	{name: "application-scale", steps: []step{
		createApplication(1, "replicas: 1"), editApplication("grow", 3, `{"spec":{"replicas":3}}`), editApplication("shrink", 1, `{"spec":{"replicas":1}}`),
	}},
	{name: "application-image", steps: []step{
		createApplication(2, "replicas: 2"), editApplication("image", 2, `{"spec":{"image":"registry.example.com/web:2"}}`),
	}},
	{name: "application-host", drops: []string{"ingresses/web"}, steps: []step{
		createApplication(1, "ingress: {host: NAMESPACE.example.com}"), editApplication("host", 1, `{"spec":{"ingress":{"host":"other-NAMESPACE.example.com"}}}`),
		editApplication("no host", 1, `{"spec":{"ingress":null}}`),
	}},
	{name: "application-cache", steps: []step{
		createCache(1, "size: 1"), createApplication(1, "caches: [{name: cache}]"), editApplication("no cache", 1, `{"spec":{"caches":null}}`),
	}},
	{name: "application-recreate", removes: true, steps: []step{
		createApplication(2, "replicas: 2\n  ingress: {host: NAMESPACE.example.com}"), removeAll("applications", "web"),
		createApplication(2, "replicas: 2\n  ingress: {host: NAMESPACE.example.com}"),
	}},
}...)
