package rollout_test

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/example/memcached-operator/operator/memcached/update/rollout"
)

// make makes a step.
func (w *world) make(step rollout.Step) {
	w.t.Helper()
	if step.Kind == rollout.None || step.Kind == rollout.Wait {
		return
	}
	pod := w.pods[step.Pod.Name]
	if pod == nil || pod.UID != step.Pod.UID || pod.ResourceVersion != step.Pod.ResourceVersion {
		w.t.Fatalf("%s is for a pod that is not there any more", step.Kind)
	}
	m := w.machines[pod.Name]
	if step.Kind == rollout.Replace {
		m.ours, m.down = m.ours || isReady(pod), m.down || serves(pod)
		pod.DeletionTimestamp = &metav1.Time{Time: w.now}
		setReady(pod, false, w.now)
		w.changed(pod)
		return
	}
	w.patch(pod, m, step)
}

func (w *world) patch(pod *corev1.Pod, m *machine, step rollout.Step) {
	w.t.Helper()
	before, err := json.Marshal(pod)
	if err != nil {
		w.t.Fatal(err)
	}
	after, err := strategicpatch.StrategicMergePatch(before, step.Patch, corev1.Pod{})
	if err != nil {
		w.t.Fatalf("%s: %v", step.Patch, err)
	}
	patched := &corev1.Pod{}
	if err := json.Unmarshal(after, patched); err != nil {
		w.t.Fatal(err)
	}
	if patched.UID != pod.UID || patched.ResourceVersion != pod.ResourceVersion {
		w.t.Fatalf("the patch is for another pod: %s", step.Patch)
	}
	if resized := !equality.Semantic.DeepEqual(patched.Spec.Containers[0].Resources, pod.Spec.Containers[0].Resources); resized != (step.Kind == rollout.Resize) {
		w.t.Fatalf("a %s says %s", step.Kind, step.Patch)
	}
	w.webhook(patched, true)
	for i, container := range patched.Spec.Containers {
		if container.Image != pod.Spec.Containers[i].Image {
			m.ours = m.ours || isReady(pod)
			m.down = m.down || serves(pod) && container.Name == "memcached"
		}
	}
	if !equality.Semantic.DeepEqual(patched.Spec, pod.Spec) {
		patched.Generation++
	}
	*pod = *patched
	w.changed(pod)
}

// run makes steps until there is nothing left to do or to wait for.
func (w *world) run(turns int) []rollout.Step {
	w.t.Helper()
	var steps []rollout.Step
	for range turns {
		step := w.next()
		if step.Kind != rollout.Wait && step.Kind != rollout.None {
			steps = append(steps, step)
		}
		w.make(step)
		w.turn(func() bool { return true })
	}
	return steps
}
