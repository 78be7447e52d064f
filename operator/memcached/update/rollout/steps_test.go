package rollout_test

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/example/memcached-operator/operator/memcached/update/rollout"
)

// make makes a step, as package executor does.
func (c *cluster) make(step rollout.Step) {
	c.t.Helper()
	if step.Kind == rollout.None || step.Kind == rollout.Wait {
		return
	}
	pod := c.pods[step.Pod.Name]
	if pod == nil || pod.UID != step.Pod.UID || pod.ResourceVersion != step.Pod.ResourceVersion {
		c.t.Fatalf("%s is for a pod that has changed or is gone", step.Kind)
	}
	m := c.simulated[pod.Name]
	if step.Kind == rollout.Replace {
		m.unreadyByOperator, m.downByOperator = m.unreadyByOperator || isReady(pod), m.downByOperator || serves(pod)
		pod.DeletionTimestamp = &metav1.Time{Time: c.now}
		setReady(pod, false, c.now)
		c.changed(pod)
		return
	}
	c.patch(pod, m, step)
}

func (c *cluster) patch(pod *corev1.Pod, m *simulatedPod, step rollout.Step) {
	c.t.Helper()
	before, err := json.Marshal(pod)
	if err != nil {
		c.t.Fatal(err)
	}
	after, err := strategicpatch.StrategicMergePatch(before, step.Patch, corev1.Pod{})
	if err != nil {
		c.t.Fatalf("%s: %v", step.Patch, err)
	}
	patched := &corev1.Pod{}
	if err := json.Unmarshal(after, patched); err != nil {
		c.t.Fatal(err)
	}
	if patched.UID != pod.UID || patched.ResourceVersion != pod.ResourceVersion {
		c.t.Fatalf("the patch is for another pod: %s", step.Patch)
	}
	if resized := !equality.Semantic.DeepEqual(patched.Spec.Containers[0].Resources, pod.Spec.Containers[0].Resources); resized != (step.Kind == rollout.Resize) {
		c.t.Fatalf("a %s says %s", step.Kind, step.Patch)
	}
	c.webhook(patched, true)
	for i, container := range patched.Spec.Containers {
		if container.Image != pod.Spec.Containers[i].Image {
			m.unreadyByOperator = m.unreadyByOperator || isReady(pod)
			m.downByOperator = m.downByOperator || serves(pod) && container.Name == "memcached"
		}
	}
	if !equality.Semantic.DeepEqual(patched.Spec, pod.Spec) {
		patched.Generation++
	}
	*pod = *patched
	c.changed(pod)
}

// run makes a step in each of a number of ticks, and returns the steps other than None and Wait.
func (c *cluster) run(ticks int) []rollout.Step {
	c.t.Helper()
	var steps []rollout.Step
	for range ticks {
		step := c.next()
		if step.Kind != rollout.Wait && step.Kind != rollout.None {
			steps = append(steps, step)
		}
		c.make(step)
		c.tick(func() bool { return true })
	}
	return steps
}
