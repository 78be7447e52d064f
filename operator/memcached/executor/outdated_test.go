package executor_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
	"github.com/example/memcached-operator/operator/memcached/update/rollout"
)

// Nothing is changed if any part of the input is outdated.
func TestAnOutdatedInputChangesNothing(t *testing.T) {
	for name, change := range map[string]func(*fixture){
		"another template": func(f *fixture) { f.want(template("agent:3", 64, "1024")) },
		"the pod changed":  func(f *fixture) { f.kubelet(1) },
		"another pod changed": func(f *fixture) {
			pod := f.pod(0)
			pod.Status.Conditions[0].Status = corev1.ConditionFalse
			f.must(cluster.Client.Status().Update(f.Context(), pod))
		},
		"another pod is gone": func(f *fixture) { f.must(cluster.Client.Delete(f.Context(), f.pod(0), client.GracePeriodSeconds(0))) },
		"there is a new pod":  func(f *fixture) { f.create(2) },
		"the StatefulSet is gone": func(f *fixture) {
			f.must(cluster.Client.Delete(f.Context(), f.set.DeepCopy(), client.PropagationPolicy(metav1.DeletePropagationOrphan)))
		},
	} {
		for kind, wanted := range map[rollout.Kind]corev1.PodTemplateSpec{
			rollout.Patch: template("agent:2", 64, "1024"), rollout.Replace: template("agent:1", 64, "2048"),
		} {
			t.Run(fmt.Sprintf("%s/%s", name, kind), func(t *testing.T) {
				f := newFixture(t)
				f.want(wanted)
				input := f.input()
				step, err := rollout.Next(input)
				f.must(err)
				f.expect(step, kind, "")
				change(f)
				if _, err := f.executor.Do(t.Context(), input, step); !reconcileerror.IsStale(err) {
					t.Errorf("the error is %v", err)
				}
				if f.gone(1) || f.pod(1).Spec.Containers[1].Image != "agent:1" {
					t.Error("the pod was changed")
				}
			})
		}
	}
}

// The preconditions catch a change after the live read.
func TestAnOutdatedPodIsNotChanged(t *testing.T) {
	for name, step := range map[string]rollout.Step{
		"patch":  {Kind: rollout.Patch, Patch: []byte(`{"metadata":{"resourceVersion":"1","labels":{"a":"b"}}}`)},
		"resize": {Kind: rollout.Resize, Patch: []byte(`{"metadata":{"resourceVersion":"1"},"spec":{"containers":[{"name":"memcached","resources":{"limits":{"cpu":"2"}}}]}}`)},
		"delete": {Kind: rollout.Replace, Unready: true},
		"evict":  {Kind: rollout.Replace},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			step := step
			step.Pod = f.pod(1)
			step.Pod.ResourceVersion = "1"
			if _, err := f.executor.Do(t.Context(), f.input(), step); !reconcileerror.IsStale(err) {
				t.Errorf("the error is %v", err)
			}
			if f.gone(1) {
				t.Error("the pod is gone")
			}
		})
	}
}
