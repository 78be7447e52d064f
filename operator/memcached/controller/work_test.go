package controller_test

import (
	"testing"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// newImage is the image of a next release.
const newImage = "docker.io/library/memcached@sha256:1111111111111111111111111111111111111111111111111111111111111111"

// nextImages are those of a next release.
var nextImages = inputs.Images{
	Memcached: map[string]string{"1.6.18": image, "1.6.45": newImage}, Default: "1.6.45", Agent: "quay.io/example/memcached-operator:v2",
}

// atOnce lets the operator make changes of its own although items are lost.
func atOnce(spec *v1alpha1.MemcachedSpec) {
	spec.Updates = &v1alpha1.MemcachedUpdates{Policy: v1alpha1.UpdateAutomatic}
}

// awaitWork waits until there is work for the cache of the name "cache", or none.
func (s *suite) awaitWork(underWay bool) {
	s.Helper()
	s.AwaitWork("Memcached", "cache", underWay)
}

// upgraded makes a cache of two nodes that does not wait, and starts an operator that runs it from another image; the new nodes do
// not become ready.
func upgraded(t *testing.T, changes ...func(*v1alpha1.MemcachedSpec)) *suite {
	t.Helper()
	s := newSuite(t)
	s.create("cache", 2, append(changes, atOnce)...)
	s.awaitReady("cache", 2)
	s.awaitWork(false)
	s.Operator.Stop()
	s.HoldContainers("ContainerCreating")
	s.Options.Images = nextImages
	s.StartOperator()
	return s
}

func TestARolloutByTheOperatorIsWorkUntilItHasEnded(t *testing.T) {
	s := upgraded(t)
	s.awaitWork(true)
	s.HoldContainers("")
	s.DeletePods()
	s.awaitWork(false)
	s.awaitReady("cache", 2)
}

// An operator that is restarted in the middle of its own rollout, and a new leader, say the same as before.
func TestARolloutByTheOperatorIsWorkForTheNextLeaderToo(t *testing.T) {
	for name, upgraded := range map[string]func(*testing.T) *suite{
		"Deployment": func(t *testing.T) *suite { return upgraded(t) },
		"StatefulSet": func(t *testing.T) *suite {
			s := releasedStatefulSet(t)
			s.HoldContainers("ContainerCreating")
			s.upgrade()
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := upgraded(t)
			s.awaitWork(true)
			s.RestartOperator()
			s.awaitWork(true)
			s.HoldContainers("")
			s.DeletePods()
			s.awaitWork(false)
			s.awaitReady("cache", 2)
		})
	}
}

// Whatever happens to pods after the rollout of the operator is no rollout by the operator.
func TestAChangeByTheUserAfterARolloutIsNoWork(t *testing.T) {
	s := releasedStatefulSet(t)
	s.upgrade()
	s.awaitAgents(newAgent)
	s.awaitReady("cache", 2)
	s.awaitWork(false)
	s.HoldContainers("ContainerCreating")
	s.Edit(s.memcached("cache"), `{"spec":{"size":3}}`)
	s.awaitReason(v1alpha1.ReasonNodesStarting)
	s.awaitWork(false)
}

// A person who changed the pods by hand is the cause of both rollouts: no version of the operator wants another template than before.
func TestWhatIsPutBackIsNoWork(t *testing.T) {
	s := newSuite(t)
	s.create("cache", 1)
	s.awaitReady("cache", 1)
	s.HoldContainers("ContainerCreating")
	s.Edit(s.deployment("cache"), `{"spec":{"template":{"spec":{"containers":[{"name":"memcached","image":"x"}]}}}}`)
	s.AwaitEvent(v1alpha1.EventDriftRepaired)
	s.awaitWork(false)
}

func TestFailingNodesAreNoWork(t *testing.T) {
	s := upgraded(t)
	s.awaitWork(true)
	s.HoldContainers("ImagePullBackOff")
	s.DeletePods()
	s.awaitReason(v1alpha1.ReasonNodesFailing)
	s.awaitWork(false)
}

// Pods of a StatefulSet that a quota or a policy does not let in: an upgrade must not wait for who sees to that.
func TestRefusedNodesAreNoWork(t *testing.T) {
	s := upgraded(t, inStatefulSet)
	s.awaitWork(true)
	s.ForbidPods()
	s.DeletePods()
	s.awaitReason(v1alpha1.ReasonNodesRefused)
	s.awaitWork(false)
}

func TestADeletedCacheIsNoWork(t *testing.T) {
	s := upgraded(t)
	s.awaitWork(true)
	s.Delete(s.memcached("cache"))
	s.awaitWork(false)
}

func TestAChangeByTheUserIsNoWork(t *testing.T) {
	s := newSuite(t)
	s.create("cache", 1)
	s.awaitReady("cache", 1)
	s.HoldContainers("ContainerCreating")
	s.Edit(s.memcached("cache"), `{"spec":{"size":3}}`)
	s.awaitReason(v1alpha1.ReasonNodesStarting)
	s.awaitWork(false)
}
