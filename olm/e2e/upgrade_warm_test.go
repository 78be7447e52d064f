//go:build e2e

package e2e

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/hack/project"
	"github.com/example/memcached-operator/olm/e2e/clients"
	"github.com/example/memcached-operator/olm/e2e/upgrades"
	"github.com/example/memcached-operator/olm/walk"
	cachev1alpha1 "github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

// otherMemcached is the default version of memcached of the made-up release. It can read the items of the current default.
const otherMemcached = "1.6.38"

// otherSource is the name of the CatalogSource that has that release.
const otherSource = "memcached-operator-other-memcached"

// manyItems is how many items are stored in every pod before the upgrade.
const manyItems = 20_000

// The release after this one has another default version of memcached and another agent. Caches with a warm restart get both,
// pod by pod, and keep every item. Others keep memcached and their items, and report the pending changes. They get the agent
// if no item is lost by that.
func TestAnUpgradeBringsNewMemcachedWarm(t *testing.T) {
	ctx := withoutOperator(t)
	next, catalog := releaseWithOtherMemcached(ctx, t)
	choose(ctx, t, walk.Choice{Version: suite.version, Channel: "candidate"})
	must(t, suite.cluster.AddCatalog(ctx, otherSource, catalog))
	warm := fillNewCache(ctx, t, "warm", cachev1alpha1.MemcachedSpec{Size: 3, Workload: cachev1alpha1.WorkloadStatefulSet, WarmRestart: true})
	stateful := fillNewCache(ctx, t, "stateful", cachev1alpha1.MemcachedSpec{Size: 2, Workload: cachev1alpha1.WorkloadStatefulSet})
	plain := fillNewCache(ctx, t, "plain", cachev1alpha1.MemcachedSpec{Size: 2, Monitoring: &cachev1alpha1.MemcachedMonitoring{}})
	stateful.editPods(ctx, t, `{"spec":{"containers":[{"name":"memcached","resources":{"limits":{"cpu":"900m"}}}]}}`)
	all := []*filledCache{warm, stateful, plain}
	var services []*clients.Memcached
	for name, size := range map[string]int32{"served-one": 1, "served-three": 3} {
		cache := fillNewCache(ctx, t, name, cachev1alpha1.MemcachedSpec{
			Size: size, Workload: cachev1alpha1.WorkloadStatefulSet, Service: &cachev1alpha1.MemcachedService{},
		})
		all = append(all, cache)
		if suite.local { // The address is one inside the cluster.
			services = append(services, serviceOf(ctx, t, cache))
		}
	}
	traffic := useCaches(t, all, services...)

	must(t, suite.cluster.SetSource(ctx, otherSource))
	for _, cache := range all {
		cache.follow(ctx, t)
	}
	start := time.Now()
	approve(ctx, t, next)
	must(t, suite.cluster.WaitOnly(ctx, next, 5*time.Minute))
	upgraded := time.Since(start)
	waitVersion(ctx, t, warm.key, 3, otherMemcached)
	done := time.Since(start)
	waitPending(ctx, t, warm.key)
	waitPending(ctx, t, plain.key, "agentImage Cold", "image Cold")
	for _, cache := range slices.Concat([]*filledCache{stateful}, all[3:]) {
		cache.waitRestarts(ctx, t, map[string]int32{"agent": 1})
		waitPending(ctx, t, cache.key, "image Cold")
	}
	must(t, traffic.Stop())
	for _, cache := range all {
		cache.sum(t)
	}
	t.Logf("OLM had upgraded after %s, and every pod of the warm cache ran memcached %s after %s\n%s",
		upgraded.Round(time.Millisecond), otherMemcached, done.Round(time.Millisecond), table(ctx, t, all))

	t.Run("the warm cache keeps every item", func(t *testing.T) {
		warm.keptItems(t)
		warm.keptPods(ctx, t, map[string]int32{"memcached": 1, "agent": 1})
		warm.oneDownAtATime(t)
		warm.saysWarm(ctx, t)
	})
	t.Run("a StatefulSet without a warm restart gets only the agent", func(t *testing.T) {
		stateful.keptItems(t)
		stateful.keptPods(ctx, t, map[string]int32{"memcached": 0, "agent": 1})
		stateful.neverFailed(t)
	})
	t.Run("clients of a Service do not notice that agents restart", func(t *testing.T) {
		for _, cache := range all[3:] {
			cache.keptItems(t)
			cache.keptPods(ctx, t, map[string]int32{"memcached": 0, "agent": 1})
			cache.neverFailed(t)
		}
		for _, service := range services {
			outcome := service.Outcome()
			t.Logf("%s: %d requests, %d failed", service.Name(), outcome.Requests, len(outcome.Failed))
			if len(outcome.Failed) > 0 || outcome.Requests == 0 {
				t.Errorf("%s: the first failure is: %v; they were at %v", service.Name(), outcome.Failure, outcome.Failed)
			}
		}
	})
	t.Run("a Deployment stays as it is", func(t *testing.T) {
		plain.keptItems(t)
		plain.keptPods(ctx, t, map[string]int32{"memcached": 0, "agent": 0})
		plain.neverFailed(t)
	})
	t.Run("the Deployment is replaced when the change is approved", func(t *testing.T) {
		releaseByCommand(ctx, t, plain.key, 2, otherMemcached, "agentImage Cold", "image Cold")
	})
}

// serviceOf returns a client of the Service that has one address for all pods of a cache, as soon as it answers: kube-proxy learns of
// ready pods a moment after the operator.
func serviceOf(ctx context.Context, t *testing.T, cache *filledCache) *clients.Memcached {
	t.Helper()
	service := &corev1.Service{}
	must(t, suite.cluster.Client.Get(ctx, cache.key, service))
	start := time.Now()
	must(t, walk.Within(ctx, 30*time.Second, "Service "+cache.key.Name+" to answer", func(context.Context) error {
		client := clients.Access{}.Spread(service.Spec.ClusterIP)
		return errors.Join(client.Ping(), client.Close())
	}))
	t.Logf("Service %s answered %s after its cache was ready and filled", cache.key.Name, time.Since(start).Round(time.Millisecond))
	return clients.NewService("Service "+cache.key.Name, service.Spec.ClusterIP, clients.Access{})
}

// editPods changes resources of running pods as an admission webhook or a person may. The operator must not replace the pods
// because of that when a release changes something else.
func (c *filledCache) editPods(ctx context.Context, t *testing.T, resources string) {
	t.Helper()
	for _, node := range c.nodes {
		kubectl(ctx, t, "patch", "pod", node.pod.Name, "-n", c.key.Namespace, "--subresource=resize", "-p", resources)
	}
}

// releaseWithOtherMemcached makes up the release, and publishes it in a catalog.
func releaseWithOtherMemcached(ctx context.Context, t *testing.T) (version, catalog string) {
	t.Helper()
	version, err := suite.stage.After(1)
	must(t, err)
	image, err := suite.stage.Digest(ctx, project.OperandRepository+":"+otherMemcached)
	must(t, err)
	operator, err := suite.stage.Operator(ctx, "other-memcached")
	must(t, err)
	memcached := project.Operand{Version: otherMemcached, Image: image}
	bundle, err := suite.stage.Release(ctx, version, func(csv *operatorsv1alpha1.ClusterServiceVersion) {
		manager := &csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Spec.Containers[0]
		manager.Image = operator
		for name, value := range map[string]string{memcached.Env(): image, project.DefaultOperandEnv: otherMemcached, project.AgentEnv: operator} {
			setVariable(manager, name, value)
		}
		csv.Spec.RelatedImages = append(csv.Spec.RelatedImages, operatorsv1alpha1.RelatedImage{Name: memcached.RelatedName(), Image: image})
	})
	must(t, err)
	catalog, err = suite.stage.Publish(ctx, "other-memcached", upgrades.Head(bundle))
	must(t, err)
	return version, catalog
}
