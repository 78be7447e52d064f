package rollout_test

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/memcached/update/rollout"
)

// expect checks a step: its kind, the number of its pod (-1 for none), and a part of why.
func expect(t *testing.T, step rollout.Step, kind rollout.Kind, slot int, why string) {
	t.Helper()
	pod := ""
	if step.Pod != nil {
		pod = step.Pod.Name
	}
	want := ""
	if slot >= 0 {
		want = fmt.Sprintf("%s-%d", name, slot)
	}
	if step.Kind != kind || pod != want || !strings.Contains(step.Message, why) {
		t.Fatalf("the step is %s of %q: %s\nwant %s of %q: %s", step.Kind, pod, step.Message, kind, want, why)
	}
	if kind != rollout.None && step.After <= 0 {
		t.Errorf("nobody would look again after %s", step.Message)
	}
	if kind != rollout.None && step.Message == "" {
		t.Errorf("nobody would know why: %+v", step)
	}
}

// kinds lists steps as "Patch 2".
func kinds(steps []rollout.Step) string {
	var words []string
	for _, step := range steps {
		words = append(words, fmt.Sprintf("%s %s", step.Kind, strings.TrimPrefix(step.Pod.Name, name+"-")))
	}
	return strings.Join(words, ", ")
}

// expectDone checks that all pods are of the template, ready, and have what it says.
func (w *world) expectDone() {
	w.t.Helper()
	if step := w.next(); step.Kind != rollout.None {
		w.t.Fatalf("there still is %s of %v: %s", step.Kind, step.Pod, step.Message)
	}
	want := w.set.Spec.Template
	for slot := range *w.set.Spec.Replicas {
		pod := w.pod(int(slot))
		if !isReady(pod) || pod.Labels[appsv1.ControllerRevisionHashLabelKey] != w.set.Status.UpdateRevision {
			w.t.Errorf("%s has the labels %v, ready: %t", pod.Name, pod.Labels, isReady(pod))
		}
		for i, container := range want.Spec.Containers {
			if m := w.machines[pod.Name]; m.images[container.Name] != container.Image || pod.Spec.Containers[i].Image != container.Image {
				w.t.Errorf("%s runs %v, wanted is %s", pod.Name, m.images, container.Image)
			}
		}
		if limit := want.Spec.Containers[0].Resources.Limits.Memory().Value() >> 20; w.machines[pod.Name].limit != limit {
			w.t.Errorf("%s has %dMi, wanted are %dMi", pod.Name, w.machines[pod.Name].limit, limit)
		}
		if memory := want.Annotations[agentapi.CacheMemoryAnnotation]; memory != "" && fmt.Sprint(w.machines[pod.Name].memory) != memory {
			w.t.Errorf("%s has %dMi for items, wanted are %sMi", pod.Name, w.machines[pod.Name].memory, memory)
		}
		if _, left := pod.Annotations[rollout.UpdateAnnotation]; left {
			w.t.Errorf("%s still has the annotation %s", pod.Name, rollout.UpdateAnnotation)
		}
	}
}

// uids tells which pods there are.
func (w *world) uids() string {
	var uids []string
	for slot := range *w.set.Spec.Replicas {
		uids = append(uids, string(w.pod(int(slot)).UID))
	}
	return strings.Join(uids, " ")
}
