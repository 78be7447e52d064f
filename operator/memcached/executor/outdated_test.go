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

// Nothing is done on outdated knowledge, whatever part of it is outdated.
func TestOutdatedKnowledgeChangesNothing(t *testing.T) {
	for name, happen := range map[string]func(*suite){
		"another template": func(s *suite) { s.want(template("agent:3", 64, "1024")) },
		"the pod changed":  func(s *suite) { s.kubelet(1) },
		"another pod changed": func(s *suite) {
			pod := s.pod(0)
			pod.Status.Conditions[0].Status = corev1.ConditionFalse
			s.must(cluster.Client.Status().Update(s.Context(), pod))
		},
		"another pod is gone":  func(s *suite) { s.must(cluster.Client.Delete(s.Context(), s.pod(0), client.GracePeriodSeconds(0))) },
		"there is another pod": func(s *suite) { s.create(2) },
		"the set is gone": func(s *suite) {
			s.must(cluster.Client.Delete(s.Context(), s.set.DeepCopy(), client.PropagationPolicy(metav1.DeletePropagationOrphan)))
		},
	} {
		for kind, wanted := range map[rollout.Kind]corev1.PodTemplateSpec{
			rollout.Patch: template("agent:2", 64, "1024"), rollout.Replace: template("agent:1", 64, "2048"),
		} {
			t.Run(fmt.Sprintf("%s/%s", name, kind), func(t *testing.T) {
				s := newSuite(t)
				s.want(wanted)
				situation := s.see()
				step, err := rollout.Next(situation)
				s.must(err)
				s.expect(step, kind, "")
				happen(s)
				if _, err := s.executor.Do(t.Context(), situation, step); !reconcileerror.IsStale(err) {
					t.Errorf("the error is %v", err)
				}
				if s.gone(1) || s.pod(1).Spec.Containers[1].Image != "agent:1" {
					t.Error("the pod was changed")
				}
			})
		}
	}
}

// What changes after the last look is noticed by the API server.
func TestTheAPIServerNoticesWhatIsOutdated(t *testing.T) {
	for name, step := range map[string]rollout.Step{
		"patch":  {Kind: rollout.Patch, Content: []byte(`{"metadata":{"resourceVersion":"1","labels":{"a":"b"}}}`)},
		"resize": {Kind: rollout.Resize, Content: []byte(`{"metadata":{"resourceVersion":"1"},"spec":{"containers":[{"name":"memcached","resources":{"limits":{"cpu":"2"}}}]}}`)},
		"delete": {Kind: rollout.Replace, Unready: true},
		"evict":  {Kind: rollout.Replace},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t)
			step := step
			step.Pod = s.pod(1)
			step.Pod.ResourceVersion = "1"
			if _, err := s.executor.Do(t.Context(), s.see(), step); !reconcileerror.IsStale(err) {
				t.Errorf("the error is %v", err)
			}
			if s.gone(1) {
				t.Error("the pod is gone")
			}
		})
	}
}
