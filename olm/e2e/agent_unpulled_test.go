//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/example/memcached-operator/hack/project"
	"github.com/example/memcached-operator/olm/e2e/upgrades"
	"github.com/example/memcached-operator/olm/walk"
	cachev1alpha1 "github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

// pulledAgain is how long it may take until an image is used that the registry got: the operator tries again every five minutes.
const pulledAgain = 7 * time.Minute

// The registry does not have the agent of the next release yet. Caches go on with the agent that they have, also in new pods, and say which
// image is missing. When the registry gets it, running pods get it without the loss of an item or a failed request.
func TestAnAgentThatCannotBePulledWaits(t *testing.T) {
	ctx := withoutOperator(t)
	agent, push, err := suite.stage.OperatorToPush(ctx, "unpulled", time.Now().String())
	must(t, err)
	next, catalog := releaseWithAgent(ctx, t, agent)
	choose(ctx, t, walk.Choice{Version: suite.version, Channel: "candidate"})
	const source = "memcached-operator-unpulled"
	must(t, suite.cluster.AddCatalog(ctx, source, catalog))
	warm := fillNewCache(ctx, t, "warm", cachev1alpha1.MemcachedSpec{Size: 2, Workload: cachev1alpha1.WorkloadStatefulSet, WarmRestart: true})
	stateful := fillNewCache(ctx, t, "stateful", cachev1alpha1.MemcachedSpec{Size: 2, Workload: cachev1alpha1.WorkloadStatefulSet})
	plain := fillNewCache(ctx, t, "plain", cachev1alpha1.MemcachedSpec{Size: 2, Monitoring: &cachev1alpha1.MemcachedMonitoring{}})
	deleted := fillNewCache(ctx, t, "deleted", cachev1alpha1.MemcachedSpec{Size: 1, Workload: cachev1alpha1.WorkloadStatefulSet})
	all := []*filledCache{warm, stateful, plain}
	traffic := useCaches(t, all)

	must(t, suite.cluster.SetSource(ctx, source))
	for _, cache := range all {
		cache.follow(ctx, t)
	}
	approve(ctx, t, next)
	must(t, suite.cluster.WaitOnly(ctx, next, 5*time.Minute))
	for _, cache := range []*filledCache{warm, stateful, deleted} {
		t.Logf("%s: %s", cache.key.Name, cache.waitUnpulled(ctx, t, agent))
	}
	waitPending(ctx, t, plain.key, "agentImage Cold")
	deleted.getsAgent(ctx, t, imageIn(&deleted.nodes[0].pod, "agent"))
	for _, cache := range all {
		cache.keptPods(ctx, t, map[string]int32{"memcached": 0, "agent": 0})
	}

	must(t, push(ctx))
	start := time.Now()
	for _, cache := range []*filledCache{warm, stateful, deleted} {
		cache.waitPulled(ctx, t, agent)
		t.Logf("%s had the agent %s after the registry", cache.key.Name, time.Since(start).Round(time.Second))
	}
	waitPending(ctx, t, plain.key, "agentImage Cold")
	for _, cache := range []*filledCache{warm, stateful} {
		cache.waitRestarts(ctx, t, map[string]int32{"agent": 1})
	}
	must(t, traffic.Stop())
	for _, cache := range all {
		cache.sum(t)
		cache.keptItems(t)
		cache.neverFailed(t)
	}
	t.Logf("\n%s", table(ctx, t, all))
	warm.keptPods(ctx, t, map[string]int32{"memcached": 0, "agent": 1})
	stateful.keptPods(ctx, t, map[string]int32{"memcached": 0, "agent": 1})
	plain.keptPods(ctx, t, map[string]int32{"memcached": 0, "agent": 0})
}

// releaseWithAgent makes up a release with this agent, and publishes it in a catalog. Its operator is the newest one.
func releaseWithAgent(ctx context.Context, t *testing.T, agent string) (version, catalog string) {
	t.Helper()
	version, err := suite.stage.After(1)
	must(t, err)
	bundle, err := suite.stage.Release(ctx, version, func(csv *operatorsv1alpha1.ClusterServiceVersion) {
		setVariable(&csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Spec.Containers[0], project.AgentEnv, agent)
		csv.Spec.RelatedImages = append(csv.Spec.RelatedImages, operatorsv1alpha1.RelatedImage{Name: "agent", Image: agent})
	})
	must(t, err)
	catalog, err = suite.stage.Publish(ctx, "unpulled", upgrades.Head(bundle))
	must(t, err)
	return version, catalog
}

// setVariable sets an environment variable of a container.
func setVariable(container *corev1.Container, name, value string) {
	container.Env = append(slices.DeleteFunc(container.Env, func(e corev1.EnvVar) bool { return e.Name == name }), corev1.EnvVar{Name: name, Value: value})
}

// waitUnpulled waits until the cache is ready, and reports that only this agent is pending because it cannot be pulled. It returns the
// message.
func (c *filledCache) waitUnpulled(ctx context.Context, t *testing.T, agent string) string {
	t.Helper()
	message := ""
	must(t, walk.Within(ctx, 3*time.Minute, c.key.Name+" to report that the agent cannot be pulled", func(ctx context.Context) error {
		var cache cachev1alpha1.Memcached
		if err := suite.cluster.Client.Get(ctx, c.key, &cache); err != nil {
			return err
		}
		pending := meta.FindStatusCondition(cache.Status.Conditions, cachev1alpha1.ConditionUpdatePending)
		if pending == nil || pending.Status != "True" || !meta.IsStatusConditionTrue(cache.Status.Conditions, cachev1alpha1.ConditionReady) {
			return fmt.Errorf("the conditions are %+v", cache.Status.Conditions)
		}
		message = pending.Message
		return nil
	}))
	contains(t, message, fmt.Sprintf("the image %q of container agent cannot be pulled", agent), "On node ", "The pods keep the image that they have, and the pull is tried again. Make the image available to the node.")
	waitPending(ctx, t, c.key, "agentImage Live")
	return message
}

// getsAgent deletes the only pod of the cache, and expects the new one to be ready with this agent.
func (c *filledCache) getsAgent(ctx context.Context, t *testing.T, agent string) {
	t.Helper()
	before := c.nodes[0].pod
	kubectl(ctx, t, "delete", "pod", before.Name, "-n", c.key.Namespace)
	after := (&production{t: t, key: c.key}).replaced(before)
	if got := imageIn(after, "agent"); got != agent {
		t.Errorf("a new pod has the agent %s, want %s", got, agent)
	}
}

// waitPulled waits until nothing is pending, and every pod runs this agent.
func (c *filledCache) waitPulled(ctx context.Context, t *testing.T, agent string) {
	t.Helper()
	must(t, walk.Within(ctx, pulledAgain, c.key.Name+" to have the agent", func(ctx context.Context) error {
		if err := haveAgent(ctx, c.key, agent); err != nil {
			return err
		}
		var cache cachev1alpha1.Memcached
		if err := suite.cluster.Client.Get(ctx, c.key, &cache); err != nil {
			return err
		}
		if cache.Status.Pending != nil || !meta.IsStatusConditionTrue(cache.Status.Conditions, cachev1alpha1.ConditionReady) {
			return errors.New("its pods are not all ready with it yet")
		}
		return nil
	}))
}
