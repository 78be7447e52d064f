package controller_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/olmcondition"
)

// creating keeps pods on the way: neither ready nor failing.
var creating = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}

// awaitWork waits until an upgrade of the operator should wait for the Application "web", or for nothing.
func (s *story) awaitWork(underWay bool) {
	s.Helper()
	var want []olmcondition.Work
	if underWay {
		want = []olmcondition.Work{{
			Object: olmcondition.Object{Kind: "Application", Namespace: s.Namespace, Name: "web"},
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

// repaired makes an Application whose pod template was changed by hand and put back, with pods that are slow to start.
func repaired(t *testing.T) *story {
	t.Helper()
	s := newStory(t)
	s.create(web())
	s.awaitReady("web", 1)
	s.awaitWork(false)
	s.Kubernetes.Sicken(creating)
	s.Edit(named[appsv1.Deployment](s, "web"), `{"spec":{"template":{"spec":{"containers":[{"name":"application","image":"x"}]}}}}`)
	s.awaitWork(true)
	return s
}

func TestWhatIsPutBackIsWorkUntilItsRolloutHasEnded(t *testing.T) {
	s := repaired(t)
	s.Kubernetes.Sicken(corev1.ContainerState{})
	err := cluster.Client.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(s.Namespace), client.GracePeriodSeconds(0))
	if err != nil {
		t.Fatal(err)
	}
	s.awaitWork(false)
	s.awaitReady("web", 1)
}

func TestADeletedApplicationIsNoWork(t *testing.T) {
	s := repaired(t)
	if err := cluster.Client.Delete(t.Context(), s.application("web")); err != nil {
		t.Fatal(err)
	}
	s.awaitWork(false)
}

func TestAChangeByTheUserIsNoWork(t *testing.T) {
	s := newStory(t)
	object := s.create(web())
	s.awaitReady("web", 1)
	s.Kubernetes.Sicken(creating)
	s.Edit(s.application("web"), `{"spec":{"image":"registry.example.com/web:2"}}`)
	s.awaitReason(object, v1alpha1.ReasonPodsUpdating)
	s.awaitWork(false)
}
