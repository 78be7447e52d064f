package controller_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/application/desired"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/internal/testkit/testenv"
	"github.com/example/memcached-operator/operator/kube/apply"
	"github.com/example/memcached-operator/operator/kube/workload"
	"github.com/example/memcached-operator/operator/olmcondition"
)

const renderingAnnotation = "cache.example.com/rendering"

// awaitWork waits until an upgrade of the operator should wait for the Application "web", or for nothing.
func (s *suite) awaitWork(underWay bool) {
	s.Helper()
	s.AwaitWork("Application", "web", underWay)
}

// restart starts the operator anew, and waits until it gives OLM this reason after it has looked at the Application "web".
func (s *suite) restart(reason string) {
	s.Helper()
	s.RestartOperator()
	s.Options.Work.Expect([]olmcondition.Object{{
		Kind: v1alpha1.ApplicationKind, NamespacedName: types.NamespacedName{Namespace: s.Namespace, Name: "web"},
	}})
	s.Await("Upgradeable has the reason "+reason, func(context.Context) error {
		if _, got, message := olmcondition.Assess(s.Options.Work.Findings()); got != reason {
			return fmt.Errorf("the reason is %s: %s", got, message)
		}
		return nil
	})
}

func (s *suite) deployment() *appsv1.Deployment {
	s.Helper()
	return testenv.MustGet[appsv1.Deployment](s.Env, "web")
}

// byEarlierVersion makes the Application "web" as a version of the operator did that rendered another pod template from the same spec.
// Releases before 0.4.0 did not annotate the rendering.
func byEarlierVersion(t *testing.T, annotated bool) *suite {
	t.Helper()
	s := newSuite(t)
	s.create(web())
	s.awaitReady("web", 1)
	s.Operator.Stop()
	annotations := map[string]string{apply.HashAnnotation: "earlier"}
	if annotated {
		var rendering map[string]any
		if err := json.Unmarshal([]byte(s.deployment().Annotations[renderingAnnotation]), &rendering); err != nil {
			t.Fatal(err)
		}
		rendering["template"] = "earlier"
		raw, err := json.Marshal(rendering)
		if err != nil {
			t.Fatal(err)
		}
		annotations[renderingAnnotation] = string(raw)
	}
	plan, err := desired.Plan(desired.Inputs{Application: testenv.MustGet[v1alpha1.Application](s.Env, "web")})
	if err != nil {
		t.Fatal(err)
	}
	earlier := plan.Present[0].(*appsv1ac.DeploymentApplyConfiguration).WithAnnotations(annotations)
	earlier.Spec.Template.Spec.WithTerminationGracePeriodSeconds(20)
	if err := cluster.Client.Apply(t.Context(), earlier, client.FieldOwner("memcached-operator"), client.ForceOwnership); err != nil {
		t.Fatal(err)
	}
	s.Await("all pods have the earlier template", func(ctx context.Context) error {
		found, err := testenv.Get[appsv1.Deployment](ctx, s.Env, "web")
		if err == nil && !workload.OfDeployment(found).Complete() {
			err = fmt.Errorf("the status is %+v", found.Status)
		}
		return err
	})
	return s
}

// upgraded starts this version of the operator, with pods that are slow to start.
func upgraded(t *testing.T, annotated bool) *suite {
	t.Helper()
	s := byEarlierVersion(t, annotated)
	s.HoldContainers("ContainerCreating")
	s.StartOperator()
	return s
}

// An operator that is restarted in the middle of its own rollout, and a new leader, say the same as before.
func TestARolloutByTheOperatorIsWorkUntilItHasEnded(t *testing.T) {
	for name, annotated := range map[string]bool{"after 0.3.0": false, "after 0.4.0": true} {
		t.Run(name, func(t *testing.T) {
			s := upgraded(t, annotated)
			s.awaitWork(true)
			s.restart(olmcondition.ReasonRolloutInProgress)
			s.HoldContainers("")
			s.DeletePods()
			s.awaitWork(false)
			s.awaitReady("web", 1)
			s.restart(olmcondition.ReasonNothingInProgress)
		})
	}
}

// The write that begins a rollout has been made although the operator has not seen the answer.
func TestALostAnswerHidesNoRollout(t *testing.T) {
	s := byEarlierVersion(t, true)
	s.HoldContainers("ContainerCreating")
	var lost atomic.Bool
	s.Options.NewClient = func(config *rest.Config, options client.Options) (client.Client, error) {
		direct, err := client.NewWithWatch(config, options)
		if err != nil {
			return nil, err
		}
		return interceptor.NewClient(direct, interceptor.Funcs{
			Apply: func(ctx context.Context, direct client.WithWatch, object runtime.ApplyConfiguration, options ...client.ApplyOption) error {
				err := direct.Apply(ctx, object, options...)
				if kind, ok := object.(interface{ GetKind() string }); err == nil && ok && kind.GetKind() == "Deployment" && !lost.Swap(true) {
					return errors.New("the connection was reset")
				}
				return err
			},
		}), nil
	}
	s.StartOperator()
	s.awaitWork(true)
	if !lost.Load() {
		t.Error("no answer was lost")
	}
	s.restart(olmcondition.ReasonRolloutInProgress)
}

func TestARolloutByTheUserIsNoWork(t *testing.T) {
	s := newSuite(t)
	object := s.create(web())
	s.awaitReady("web", 1)
	s.HoldContainers("ContainerCreating")
	s.Edit(s.application("web"), `{"spec":{"image":"registry.example.com/web:2"}}`)
	s.awaitReason(object, v1alpha1.ReasonPodsStopping) // The old pod runs until the new one is ready.
	s.awaitWork(false)
	s.restart(olmcondition.ReasonNothingInProgress)
	s.Edit(s.application("web"), `{"spec":{"replicas":2}}`)
	s.awaitReplicas(2)
	s.restart(olmcondition.ReasonNothingInProgress)
}

// awaitReplicas waits until the Deployment of the Application "web" has so many replicas.
func (s *suite) awaitReplicas(replicas int32) {
	s.Helper()
	s.Await(fmt.Sprintf("%d replicas", replicas), func(ctx context.Context) error {
		found, err := testenv.Get[appsv1.Deployment](ctx, s.Env, "web")
		if err == nil && *found.Spec.Replicas != replicas {
			err = fmt.Errorf("there are %d", *found.Spec.Replicas)
		}
		return err
	})
}

// A change of the spec replaces the pods anyway, so there is nothing left to wait for.
func TestARolloutByTheOperatorBecomesThatOfTheUser(t *testing.T) {
	s := upgraded(t, true)
	s.awaitWork(true)
	s.Edit(s.application("web"), `{"spec":{"image":"registry.example.com/web:2"}}`)
	s.awaitWork(false)
	s.restart(olmcondition.ReasonNothingInProgress)
}

func TestARolloutByTheOperatorGoesOnWhenTheUserScales(t *testing.T) {
	s := upgraded(t, true)
	s.awaitWork(true)
	s.Edit(s.application("web"), `{"spec":{"replicas":2}}`)
	s.awaitReplicas(2)
	s.restart(olmcondition.ReasonRolloutInProgress)
}

// Whatever happens to pods after the rollout by the operator is no rollout by the operator.
func TestWhatHappensAfterARolloutByTheOperatorIsNoWork(t *testing.T) {
	for name, act := range map[string]func(*suite){
		"the user scales": func(s *suite) {
			s.Edit(s.application("web"), `{"spec":{"replicas":2}}`)
			s.awaitReplicas(2)
		},
		"the user restarts": func(s *suite) {
			s.Edit(s.deployment(), `{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"2026-01-01T00:00:00Z"}}}}}`)
			s.awaitReason(s.application("web"), v1alpha1.ReasonPodsStopping) // As above: PodsUpdating may last too short to be seen.
		},
		"the user changes the image in the Deployment": func(s *suite) {
			s.Edit(s.deployment(), `{"spec":{"template":{"spec":{"containers":[{"name":"application","image":"x"}]}}}}`)
			s.AwaitEvent(v1alpha1.EventDriftRepaired, "image")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := byEarlierVersion(t, true)
			s.StartOperator()
			s.Await("all pods have the new template", func(ctx context.Context) error {
				found, err := testenv.Get[appsv1.Deployment](ctx, s.Env, "web")
				if err == nil && (*found.Spec.Template.Spec.TerminationGracePeriodSeconds == 20 || !workload.OfDeployment(found).Complete()) {
					err = fmt.Errorf("the status is %+v", found.Status)
				}
				return err
			})
			s.awaitReady("web", 1)
			s.HoldContainers("ContainerCreating")
			act(s)
			s.awaitWork(false)
			s.restart(olmcondition.ReasonNothingInProgress)
		})
	}
}

// A person who changed the pods by hand is the cause of both rollouts: no version of the operator wants another template than before.
func TestWhatIsPutBackIsNoWork(t *testing.T) {
	s := newSuite(t)
	s.create(web())
	s.awaitReady("web", 1)
	s.HoldContainers("ContainerCreating")
	s.Edit(s.deployment(), `{"spec":{"template":{"spec":{"containers":[{"name":"application","image":"x"}]}}}}`)
	s.AwaitEvent(v1alpha1.EventDriftRepaired)
	s.awaitWork(false)
	s.restart(olmcondition.ReasonNothingInProgress)
}

func TestFailingPodsAreNoWork(t *testing.T) {
	s := upgraded(t, true)
	s.awaitWork(true)
	s.HoldContainers("ImagePullBackOff")
	s.DeletePods()
	s.awaitReason(s.application("web"), v1alpha1.ReasonPodsFailing)
	s.awaitWork(false)
}

func TestADeletedApplicationIsNoWork(t *testing.T) {
	s := upgraded(t, true)
	s.awaitWork(true)
	s.Delete(s.application("web"))
	s.awaitWork(false)
}

// An admission policy may change the pods with any write.
func TestADeploymentOfAnEarlierReleaseIsNotWrittenForTheAnnotation(t *testing.T) {
	s := newSuite(t)
	s.create(web())
	s.awaitReady("web", 1)
	s.Operator.Stop()
	before := s.MustPods()
	s.Edit(s.deployment(), `{"metadata":{"annotations":{"`+renderingAnnotation+`":null}}}`)
	s.StartOperator()
	s.AssertRestartWritesNothing(s.application("web"), s.deployment())
	if difference := cmp.Diff(before, s.MustPods()); difference != "" {
		t.Errorf("pods were replaced:\n%s", difference)
	}
}
