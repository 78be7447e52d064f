package controller_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit/testenv"
)

// awaitWork waits until an upgrade of the operator should wait for the Application "web", or for nothing.
func (s *suite) awaitWork(underWay bool) {
	s.Helper()
	s.AwaitWork("Application", "web", underWay)
}

// repaired makes an Application whose pod template was changed by hand and put back, with pods that are slow to start.
func repaired(t *testing.T) *suite {
	t.Helper()
	s := newSuite(t)
	s.create(web())
	s.awaitReady("web", 1)
	s.awaitWork(false)
	s.HoldContainers("ContainerCreating")
	s.Edit(testenv.Named[appsv1.Deployment](s.Env, "web"), `{"spec":{"template":{"spec":{"containers":[{"name":"application","image":"x"}]}}}}`)
	s.awaitWork(true)
	return s
}

func TestWhatIsPutBackIsWorkUntilItsRolloutHasEnded(t *testing.T) {
	s := repaired(t)
	s.HoldContainers("")
	s.DeletePods()
	s.awaitWork(false)
	s.awaitReady("web", 1)
}

func TestADeletedApplicationIsNoWork(t *testing.T) {
	s := repaired(t)
	s.Delete(s.application("web"))
	s.awaitWork(false)
}

func TestAChangeByTheUserIsNoWork(t *testing.T) {
	s := newSuite(t)
	object := s.create(web())
	s.awaitReady("web", 1)
	s.HoldContainers("ContainerCreating")
	s.Edit(s.application("web"), `{"spec":{"image":"registry.example.com/web:2"}}`)
	s.awaitReason(object, v1alpha1.ReasonPodsUpdating)
	s.awaitWork(false)
}
