//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/olm/e2e/clients"
	"github.com/example/memcached-operator/olm/walk"
	cachev1alpha1 "github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/pods"
)

// otherNode is the node of the local cluster that these tests drain, pause and kill.
const otherNode = "node-1"

// control makes the local cluster kill, start, pause or resume components and nodes.
func control(ctx context.Context, do string, names ...string) error {
	_, err := command(ctx, suite.control[0], slices.Concat(suite.control[1:], []string{do}, names)...)
	return err
}

// nodeNames returns the names of the cluster's nodes.
func nodeNames(t *testing.T) []string {
	t.Helper()
	return strings.Fields(kubectl(t.Context(), t, "get", "nodes", "-o", "jsonpath={.items[*].metadata.name}"))
}

// cordoned lets no more pods run on the nodes, until the test ends.
func cordoned(t *testing.T, nodes ...string) {
	t.Helper()
	t.Cleanup(func() { uncordon(context.Background(), t, nodes...) })
	kubectl(t.Context(), t, append([]string{"cordon"}, nodes...)...)
}

func uncordon(ctx context.Context, t *testing.T, nodes ...string) {
	t.Helper()
	kubectl(ctx, t, append([]string{"uncordon"}, nodes...)...)
}

// settled waits until all nodes and pods of the cluster are ready, those of OLM among them, and OLM's API answers.
func settled(t *testing.T) {
	t.Helper()
	settle(t.Context(), t)
}

// settle is settled for what ends a test.
func settle(ctx context.Context, t *testing.T) {
	t.Helper()
	must(t, walk.Within(ctx, 4*time.Minute, "all nodes and pods to be ready", func(ctx context.Context) error {
		var nodes corev1.NodeList
		var all corev1.PodList
		if err := errors.Join(suite.cluster.Client.List(ctx, &nodes), suite.cluster.Client.List(ctx, &all)); err != nil {
			return err
		}
		var missing []string
		for _, node := range nodes.Items {
			if node.Spec.Unschedulable || !slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
				return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
			}) {
				missing = append(missing, node.Name)
			}
		}
		for _, pod := range all.Items {
			ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
			if !ended && (pod.DeletionTimestamp != nil || !pods.Ready(&pod)) {
				missing = append(missing, pod.Namespace+"/"+pod.Name)
			}
		}
		if len(missing) > 0 {
			return fmt.Errorf("these are not: %v", missing)
		}
		_, err := suite.cluster.Kubectl(ctx, "get", "--raw", "/apis/packages.operators.coreos.com/v1")
		return err
	}))
}

// nodeSplit is a cache whose pods are on both nodes: some go when something happens to otherNode, the others stay.
type nodeSplit struct {
	p          *production
	before     map[string]corev1.Pod
	servers    []*clients.Memcached // by ordinal
	gone, stay []int                // ordinals
	goneLoads  []*clients.Load
	stayLoads  []*clients.Load
}

// nodeItems is how many items each pod holds while something happens to a node.
const nodeItems = 2000

// splitByNode fills a cache with pods on both nodes, and uses it.
func splitByNode(p *production) *nodeSplit {
	p.t.Helper()
	s := &nodeSplit{p: p, before: p.pods(), servers: p.servers(clients.Access{})}
	p.storeAll(s.servers, nodeItems, smallItem)
	for ordinal := range s.servers {
		if s.before[p.podName(ordinal)].Spec.NodeName == otherNode {
			s.gone = append(s.gone, ordinal)
		} else {
			s.stay = append(s.stay, ordinal)
		}
	}
	if len(s.gone) == 0 || len(s.stay) == 0 {
		p.t.Fatalf("pods %v are on %s, and pods %v are not: want pods on both nodes", s.gone, otherNode, s.stay)
	}
	s.goneLoads, s.stayLoads = p.use(s.pick(s.gone)), p.use(s.pick(s.stay))
	return s
}

func (s *nodeSplit) pick(ordinals []int) []*clients.Memcached {
	var servers []*clients.Memcached
	for _, ordinal := range ordinals {
		servers = append(servers, s.servers[ordinal])
	}
	return servers
}

// stayed fails the test if the pods of the other nodes were replaced or restarted, lost items, or failed requests.
func (s *nodeSplit) stayed(what string) {
	s.p.t.Helper()
	s.p.unnoticed(what, s.stayLoads...)
	s.p.complete(s.pick(s.stay), nodeItems)
	before := map[string]corev1.Pod{}
	for _, ordinal := range s.stay {
		name := s.p.podName(ordinal)
		before[name] = s.before[name]
	}
	s.p.same(before)
}

// emptied waits until the pods of otherNode have come back, in new pods or restarted ones, and expects them to be empty and to take items.
func (s *nodeSplit) emptied() {
	p := s.p
	p.t.Helper()
	for _, ordinal := range s.gone {
		before := s.before[p.podName(ordinal)]
		after := p.again(before)
		server := s.servers[ordinal]
		p.leads(server.Name(), after.Status.PodIP)
		if missing := p.missing(server, nodeItems, smallItem); missing != nodeItems {
			p.t.Errorf("%s came back with %d items, want an empty one", before.Name, nodeItems-missing)
		}
		must(p.t, server.Store(nodeItems, smallItem))
		p.t.Logf("%s: now on %s, did not answer for %s", before.Name, after.Spec.NodeName, server.Outcome().Missed().Round(100*time.Millisecond))
	}
	p.complete(s.servers, nodeItems)
}

// again waits until a pod is ready that was replaced or whose memcached was restarted.
func (p *production) again(before corev1.Pod) *corev1.Pod {
	p.t.Helper()
	var after corev1.Pod
	must(p.t, walk.Within(p.t.Context(), 3*time.Minute, before.Name+" to come back", func(context.Context) error {
		after = p.pods()[before.Name]
		restarts := containerRestarts(&after)["memcached"] - containerRestarts(&before)["memcached"]
		if (after.UID == before.UID && restarts == 0) || !pods.Ready(&after) {
			return fmt.Errorf("it has the UID %s and had %s, was restarted %d times, and is %s", after.UID, before.UID, restarts, after.Status.Phase)
		}
		return nil
	}))
	return &after
}

// notReady waits until the cache reports that it is not ready because only so many pods are, and returns the message.
func (p *production) notReady(d time.Duration, ready int32) string {
	p.t.Helper()
	message := ""
	must(p.t, walk.Within(p.t.Context(), d, fmt.Sprintf("%s to report %d ready pods", p.key.Name, ready), func(ctx context.Context) error {
		var cache cachev1alpha1.Memcached
		if err := suite.cluster.Client.Get(ctx, p.key, &cache); err != nil {
			return err
		}
		found := meta.FindStatusCondition(cache.Status.Conditions, cachev1alpha1.ConditionReady)
		if found == nil || found.Status != metav1.ConditionFalse || cache.Status.ReadyReplicas != ready {
			return fmt.Errorf("%d pods are ready, and the condition is %+v", cache.Status.ReadyReplicas, found)
		}
		message = found.Reason + ": " + found.Message
		return nil
	}))
	return message
}

// row returns the line of `kubectl get memcached -o wide` about the cache.
func (p *production) row() string {
	p.t.Helper()
	return kubectl(p.t.Context(), p.t, "get", "memcached", p.key.Name, "-n", p.key.Namespace, "-o", "wide", "--no-headers")
}
