package controller_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/olmcondition"
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

// creating keeps pods on the way: neither ready nor failing.
var creating = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}

// awaitWork waits until there is work for the cache of the name "cache", or none.
func (s *story) awaitWork(underWay bool) {
	s.Helper()
	var want []olmcondition.Work
	if underWay {
		want = []olmcondition.Work{{
			Object: olmcondition.Object{Kind: "Memcached", Namespace: s.Namespace, Name: "cache"},
			Reason: olmcondition.ReasonRolloutInProgress,
		}}
	}
	s.Await(fmt.Sprintf("there is work: %t", underWay), func(context.Context) error {
		if difference := cmp.Diff(want, s.work.Facts().Work); difference != "" {
			return fmt.Errorf("work (-want +got):\n%s", difference)
		}
		return nil
	})
}

// restartPods deletes all pods; their Deployment makes new ones.
func (s *story) restartPods() {
	s.Helper()
	err := cluster.Client.DeleteAllOf(s.Context(), &corev1.Pod{}, client.InNamespace(s.Namespace), client.GracePeriodSeconds(0))
	if err != nil {
		s.Fatal(err)
	}
}

// upgraded makes a cache of two nodes that does not wait, and starts an operator that runs it from another image; the new nodes stay in the
// given state.
func upgraded(t *testing.T, nodes corev1.ContainerState, changes ...func(*v1alpha1.MemcachedSpec)) *story {
	t.Helper()
	s := newStory(t)
	s.create("cache", 2, append(changes, atOnce)...)
	s.awaitReady("cache", 2)
	s.awaitWork(false)
	s.Operator.Stop()
	s.Kubernetes.Sicken(nodes)
	s.images = nextImages
	s.StartOperator()
	return s
}

func TestARolloutByTheOperatorIsWorkUntilItHasEnded(t *testing.T) {
	s := upgraded(t, creating)
	s.awaitWork(true)
	s.Kubernetes.Sicken(corev1.ContainerState{})
	s.restartPods()
	s.awaitWork(false)
	s.awaitReady("cache", 2)
}

func TestWhatIsPutBackIsWorkToo(t *testing.T) {
	s := newStory(t)
	s.create("cache", 1)
	s.awaitReady("cache", 1)
	s.Kubernetes.Sicken(creating)
	s.Edit(s.deployment("cache"), `{"spec":{"template":{"spec":{"containers":[{"name":"memcached","image":"x"}]}}}}`)
	s.awaitWork(true)
	s.Kubernetes.Sicken(corev1.ContainerState{})
	s.restartPods()
	s.awaitWork(false)
}

func TestFailingNodesAreNoWork(t *testing.T) {
	s := upgraded(t, creating)
	s.awaitWork(true)
	s.Kubernetes.Sicken(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}})
	s.restartPods()
	s.awaitReason(v1alpha1.ReasonNodesFailing)
	s.awaitWork(false)
}

// Pods of a StatefulSet that a quota or a policy does not let in: an upgrade must not wait for who sees to that.
func TestRefusedNodesAreNoWork(t *testing.T) {
	s := upgraded(t, creating, inSlots)
	s.awaitWork(true)
	s.Kubernetes.Refuse("exceeded quota: small")
	s.restartPods()
	s.awaitReason(v1alpha1.ReasonNodesRefused)
	s.awaitWork(false)
}

func TestADeletedCacheIsNoWork(t *testing.T) {
	s := upgraded(t, creating)
	s.awaitWork(true)
	if err := cluster.Client.Delete(t.Context(), s.memcached("cache")); err != nil {
		t.Fatal(err)
	}
	s.awaitWork(false)
}

func TestAChangeByTheUserIsNoWork(t *testing.T) {
	s := newStory(t)
	s.create("cache", 1)
	s.awaitReady("cache", 1)
	s.Kubernetes.Sicken(creating)
	s.Edit(s.memcached("cache"), `{"spec":{"size":3}}`)
	s.awaitReason(v1alpha1.ReasonNodesStarting)
	s.awaitWork(false)
}
