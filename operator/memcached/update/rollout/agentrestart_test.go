package rollout_test

import (
	"strings"
	"testing"

	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/update/rollout"
)

// announced reports whether a pod says that its agent restarts.
func (c *cluster) announced(ordinal int) bool {
	_, announced := c.pod(ordinal).Annotations[inputs.AgentRestartAnnotation]
	return announced
}

// The kubelet reports a pod as not ready while its agent restarts, and a Service leaves out such pods. So the Service is changed first,
// and again before memcached restarts, which serves nobody then.
func TestAnAgentRestartsWhileTheServicePublishesItsPod(t *testing.T) {
	c := newCluster(t, 2, withWarmRestart())
	c.service = true
	c.want(upgraded.with(newAgent))
	c.make(c.next())
	if !c.announced(1) || c.pod(1).Spec.Containers[1].Image != "agent:1" {
		t.Fatalf("the pod has the annotations %v and runs %v", c.pod(1).Annotations, c.pod(1).Spec.Containers)
	}
	expect(t, c.next(), rollout.Wait, 1, "cache-1 waits until the Service publishes pods that are not ready")
	c.keepsUnready = true
	c.make(c.next())
	if got := c.pod(1).Spec.Containers; got[1].Image != "agent:2" || got[0].Image != image+"1.6.18" {
		t.Errorf("the first patch gives the images %s and %s, want that of the agent alone", got[0].Image, got[1].Image)
	}
	c.settle(20)
	step := c.next()
	expect(t, step, rollout.Patch, 1, "the agent of cache-1 has restarted")
	c.make(step)
	if c.announced(1) {
		t.Error("the pod is still announced")
	}
	expect(t, c.next(), rollout.Wait, 1, "cache-1 waits until the Service publishes ready pods only")
	c.keepsUnready = false
	step = c.next()
	expect(t, step, rollout.Patch, 1, "image 1.6.18 -> 1.6.45 (Warm)")
	c.make(step)
	c.settle(20)
	c.make(c.next())
	if c.announced(1) || c.pod(1).Annotations[rollout.UpdateAnnotation] != "" {
		t.Errorf("the pod has the annotations %v", c.pod(1).Annotations)
	}
}

// After the restart of the agent alone, the Service is as before.
func TestAnAnnouncementEndsWithTheUpdate(t *testing.T) {
	c := newCluster(t, 1, withWarmRestart())
	c.service = true
	c.want(withWarmRestart().with(newAgent))
	c.make(c.next())
	c.keepsUnready = true
	c.run(20)
	c.expectDone()
	if c.announced(0) {
		t.Errorf("the pod has the annotations %v", c.pod(0).Annotations)
	}
}

// The agent and memcached of a pod that serves clients never restart in one patch.
func TestAgentAndMemcachedRestartOneAfterTheOther(t *testing.T) {
	c := newCluster(t, 2, withWarmRestart())
	c.want(upgraded.with(newAgent))
	for _, step := range c.run(120) {
		if patch := string(step.Patch); strings.Contains(patch, "agent:2") && strings.Contains(patch, "1.6.45") {
			t.Errorf("one patch restarts both: %s", patch)
		}
	}
	c.expectDone()
}

// A spec that changes between the two patches finds out what the agent has.
func TestARevertBetweenAgentAndMemcached(t *testing.T) {
	c := newClusterWithWebhook(t, 1, versioned(withWarmRestart()), rewritingImages("memcached", "agent"))
	uids, items := c.uids(), c.simulatedPod(0).items
	c.want(versioned(upgraded.with(newAgent)))
	c.make(c.next())
	c.settle(5)
	c.want(versioned(withWarmRestart()))
	c.run(60)
	expect(t, c.next(), rollout.None, -1, "")
	if got := c.pod(0).Spec.Containers[1].Image; got != mirror+"agent:1" || c.uids() != uids || c.simulatedPod(0).items < items {
		t.Errorf("the agent is %s, the pods are %s", got, c.uids())
	}
}
