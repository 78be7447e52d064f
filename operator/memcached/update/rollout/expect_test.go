package rollout_test

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/memcached/update/rollout"
)

// expect checks the kind of a step, the ordinal of its pod (-1 for none), and a part of its message.
func expect(t *testing.T, step rollout.Step, kind rollout.Kind, ordinal int, message string) {
	t.Helper()
	pod := ""
	if step.Pod != nil {
		pod = step.Pod.Name
	}
	want := ""
	if ordinal >= 0 {
		want = fmt.Sprintf("%s-%d", name, ordinal)
	}
	if step.Kind != kind || pod != want || !strings.Contains(step.Message, message) {
		t.Fatalf("the step is %s of %q: %s\nwant %s of %q: %s", step.Kind, pod, step.Message, kind, want, message)
	}
	if kind != rollout.None && step.After <= 0 {
		t.Errorf("nothing would reconcile again after %s", step.Message)
	}
	if kind != rollout.None && step.Message == "" {
		t.Errorf("the step has no message: %+v", step)
	}
}

// expectStuck checks that a step is stuck.
func expectStuck(t *testing.T, step rollout.Step) {
	t.Helper()
	if !step.Stuck {
		t.Errorf("it is not stuck: %+v", step)
	}
}

// summarise lists steps as "Patch 2, Replace 1".
func summarise(steps []rollout.Step) string {
	var words []string
	for _, step := range steps {
		words = append(words, fmt.Sprintf("%s %s", step.Kind, strings.TrimPrefix(step.Pod.Name, name+"-")))
	}
	return strings.Join(words, ", ")
}

// expectDone checks that all pods are ready and up to date, and have what the template says.
func (c *cluster) expectDone() {
	c.t.Helper()
	if step := c.next(); step.Kind != rollout.None {
		c.t.Fatalf("there is another step, %s of %v: %s", step.Kind, step.Pod, step.Message)
	}
	want := c.set.Spec.Template
	for ordinal := range *c.set.Spec.Replicas {
		pod := c.pod(int(ordinal))
		if !isReady(pod) || pod.Labels[appsv1.ControllerRevisionHashLabelKey] != c.set.Status.UpdateRevision {
			c.t.Errorf("%s has the labels %v, ready: %t", pod.Name, pod.Labels, isReady(pod))
		}
		for i, container := range want.Spec.Containers {
			if m := c.simulated[pod.Name]; m.images[container.Name] != container.Image || pod.Spec.Containers[i].Image != container.Image {
				c.t.Errorf("%s runs %v, want %s", pod.Name, m.images, container.Image)
			}
		}
		if limit := want.Spec.Containers[0].Resources.Limits.Memory().Value() >> 20; c.simulated[pod.Name].limit != limit {
			c.t.Errorf("%s has the limit %dMi, want %dMi", pod.Name, c.simulated[pod.Name].limit, limit)
		}
		if memory := want.Annotations[agentapi.CacheMemoryAnnotation]; memory != "" && fmt.Sprint(c.simulated[pod.Name].memory) != memory {
			c.t.Errorf("%s has %dMi for items, want %sMi", pod.Name, c.simulated[pod.Name].memory, memory)
		}
		if _, left := pod.Annotations[rollout.UpdateAnnotation]; left {
			c.t.Errorf("%s still has the annotation %s", pod.Name, rollout.UpdateAnnotation)
		}
	}
}

// uids returns the UIDs of all pods.
func (c *cluster) uids() string {
	var uids []string
	for ordinal := range *c.set.Spec.Replicas {
		uids = append(uids, string(c.pod(int(ordinal)).UID))
	}
	return strings.Join(uids, " ")
}
