package executor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/agent/state"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/memcached/executor"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/update/rollout"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// suite is a StatefulSet with its pods in a namespace of its own. The test plays all controllers and the kubelet.
type suite struct {
	*testing.T
	set      *appsv1.StatefulSet
	executor *executor.Executor
	state    *state.State
	later    time.Duration // How much later than now it is.
}

var labels = map[string]string{"app": "cache"}

func template(image string, memory int64, connections string) corev1.PodTemplateSpec {
	list := func(cpu string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: *resource.NewQuantity((memory+64)<<20, resource.BinarySI)}
	}
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{api.CacheMemoryAnnotation: fmt.Sprint(memory)}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: "memcached", Image: "memcached:1.6.18", Command: []string{"memcached"}, Args: []string{"-m", fmt.Sprint(memory), "-c", connections},
				Resources: corev1.ResourceRequirements{Requests: list("50m"), Limits: list("1")}},
			{Name: "agent", Image: image},
		}},
	}
}

// newStory makes two pods that are ready and of the template.
func newSuite(t *testing.T) *suite {
	t.Helper()
	t.Parallel()
	s := &suite{
		T: t, executor: &executor.Executor{Client: cluster.Client, Live: cluster.Client},
		state: &state.State{Process: 1, Items: 100, CacheMemory: 64},
		set: &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace(t), Name: "cache"},
			Spec: appsv1.StatefulSetSpec{
				Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template("agent:1", 64, "1024"),
				UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
			},
		},
	}
	s.must(cluster.Client.Create(t.Context(), s.set))
	s.controller()
	for slot := range 2 {
		s.create(slot)
	}
	return s
}

func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// controller makes a revision of the template, as the StatefulSet controller does.
func (s *suite) controller() {
	s.Helper()
	raw, err := json.Marshal(map[string]any{"spec": map[string]any{"template": s.set.Spec.Template}})
	s.must(err)
	revision := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.set.Namespace, Name: fmt.Sprintf("cache-%d", s.set.Generation)},
		Data:       runtime.RawExtension{Raw: raw}, Revision: s.set.Generation,
	}
	s.must(cluster.Client.Create(s.Context(), revision))
	s.set.Status.ObservedGeneration, s.set.Status.UpdateRevision = s.set.Generation, revision.Name
	s.must(cluster.Client.Status().Update(s.Context(), s.set))
}

func (s *suite) create(slot int) {
	s.Helper()
	pod := &corev1.Pod{ObjectMeta: *s.set.Spec.Template.ObjectMeta.DeepCopy(), Spec: *s.set.Spec.Template.Spec.DeepCopy()}
	pod.Namespace, pod.Name = s.set.Namespace, fmt.Sprintf("cache-%d", slot)
	pod.Labels[appsv1.ControllerRevisionHashLabelKey] = s.set.Status.UpdateRevision
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "cache", UID: s.set.UID, Controller: ptr.To(true)}}
	s.must(cluster.Client.Create(s.Context(), pod))
	s.kubelet(slot)
}

// kubelet says that a pod runs what its spec wants. Its containers are others each time.
func (s *suite) kubelet(slot int) {
	s.Helper()
	pod := s.pod(slot)
	pod.Status.Phase, pod.Status.ObservedGeneration = corev1.PodRunning, pod.Generation
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
	pod.Status.ContainerStatuses = nil
	for _, container := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: container.Name, Ready: true, ContainerID: fmt.Sprintf("containerd://%s-%s", container.Name, pod.ResourceVersion),
			State:     corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
			Resources: container.Resources.DeepCopy(),
		})
	}
	s.must(cluster.Client.Status().Update(s.Context(), pod))
}

func (s *suite) pod(slot int) *corev1.Pod {
	s.Helper()
	pod := &corev1.Pod{}
	s.must(cluster.Client.Get(s.Context(), client.ObjectKey{Namespace: s.set.Namespace, Name: fmt.Sprintf("cache-%d", slot)}, pod))
	return pod
}

// want changes the template.
func (s *suite) want(template corev1.PodTemplateSpec) {
	s.Helper()
	s.set.Spec.Template = template
	s.must(cluster.Client.Update(s.Context(), s.set))
	s.controller()
}

// see returns what there is now.
func (s *suite) see() rollout.Input {
	s.Helper()
	pods, revisions := &corev1.PodList{}, &appsv1.ControllerRevisionList{}
	s.must(cluster.Client.List(s.Context(), pods, client.InNamespace(s.set.Namespace)))
	s.must(cluster.Client.List(s.Context(), revisions, client.InNamespace(s.set.Namespace)))
	return rollout.Input{
		StatefulSet: s.set.DeepCopy(), Pods: pods.Items, Revisions: revisions.Items, Features: inputs.Features{Resize: true, Shrink: true}, Now: time.Now().Add(s.later),
		States: map[string]*state.State{"cache-0": s.state, "cache-1": s.state},
	}
}

// step makes the next step.
func (s *suite) step() rollout.Step {
	s.Helper()
	situation := s.see()
	step, err := rollout.Next(situation)
	s.must(err)
	done, err := s.executor.Do(context.Background(), situation, step)
	s.must(err)
	return done
}

func (s *suite) expect(step rollout.Step, kind rollout.Kind, why string) {
	s.Helper()
	if step.Kind != kind || !strings.Contains(step.Why, why) {
		s.Fatalf("the step is %s: %s\nwant %s: %s", step.Kind, step.Why, kind, why)
	}
}

func (s *suite) gone(slot int) bool {
	s.Helper()
	pod := &corev1.Pod{}
	err := cluster.Client.Get(s.Context(), client.ObjectKey{Namespace: s.set.Namespace, Name: fmt.Sprintf("cache-%d", slot)}, pod)
	s.must(client.IgnoreNotFound(err))
	return apierrors.IsNotFound(err) || pod.DeletionTimestamp != nil
}

func (s *suite) budget(name string, allowed int32) {
	s.Helper()
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.set.Namespace, Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, MinAvailable: ptr.To(intstr.FromInt32(2))},
	}
	s.must(cluster.Client.Create(s.Context(), budget))
	budget.Status = policyv1.PodDisruptionBudgetStatus{
		ObservedGeneration: budget.Generation, DisruptionsAllowed: allowed, CurrentHealthy: 2, DesiredHealthy: 2, ExpectedPods: 2,
	}
	s.must(cluster.Client.Status().Update(s.Context(), budget))
}

// A change of memory and agent at once goes through every kind of step that keeps a pod.
func TestAChangeInPlace(t *testing.T) {
	s := newSuite(t)
	uid := s.pod(1).UID
	s.expect(s.step(), rollout.None, "")
	s.want(template("agent:2", 128, "1024"))
	s.expect(s.step(), rollout.Patch, "cache-1 is changed in place")
	s.expect(s.step(), rollout.Resize, "cache-1 is resized")
	if limit := s.pod(1).Spec.Containers[0].Resources.Limits.Memory(); limit.Value() != 192<<20 {
		t.Errorf("the limit is %s", limit)
	}
	s.expect(s.step(), rollout.Wait, "the machine of cache-1 has yet to act on the change")
	s.kubelet(1)
	s.expect(s.step(), rollout.Patch, "agentImage (Live)")
	pod := s.pod(1)
	if pod.Spec.Containers[1].Image != "agent:2" || pod.Annotations[api.CacheMemoryAnnotation] != "128" {
		t.Errorf("the pod has the image %s and annotations %v", pod.Spec.Containers[1].Image, pod.Annotations)
	}
	s.expect(s.step(), rollout.Wait, "agent in cache-1 restarts")
	s.kubelet(1)
	s.expect(s.step(), rollout.Wait, "memcached in cache-1 has yet to take 128Mi for items")
	s.state.CacheMemory = 128
	s.expect(s.step(), rollout.Patch, "cache-1 is of the template")
	pod = s.pod(1)
	if _, left := pod.Annotations[rollout.UpdateAnnotation]; left || pod.UID != uid ||
		pod.Labels[appsv1.ControllerRevisionHashLabelKey] != s.set.Status.UpdateRevision {
		t.Errorf("the pod has %v and %v", pod.Labels, pod.Annotations)
	}
	s.expect(s.step(), rollout.Patch, "cache-0 is changed in place")
}

func TestAPodThatIsReadyIsEvicted(t *testing.T) {
	s := newSuite(t)
	s.budget("own", 1)
	s.want(template("agent:1", 64, "2048"))
	s.expect(s.step(), rollout.Replace, "cache-1 is replaced")
	if !s.gone(1) || s.gone(0) {
		t.Error("the wrong pods are gone")
	}
	budget := &policyv1.PodDisruptionBudget{}
	s.must(cluster.Client.Get(t.Context(), client.ObjectKey{Namespace: s.set.Namespace, Name: "own"}, budget))
	if budget.Status.DisruptionsAllowed != 0 {
		t.Error("the budget was not asked")
	}
}

func TestABudgetIsRespected(t *testing.T) {
	s := newSuite(t)
	s.budget("strict", 0)
	s.want(template("agent:1", 64, "2048"))
	step := s.step()
	s.expect(step, rollout.Wait, "cache-1 is not replaced yet, because its PodDisruptionBudget does not allow it: "+
		"The disruption budget strict needs 2 healthy pods and has 2 currently")
	if step.Stuck || step.After <= 0 || s.gone(1) {
		t.Errorf("the step is %+v, and it is %t that the pod is gone", step, s.gone(1))
	}
	s.later = time.Hour
	if step := s.step(); !step.Stuck {
		t.Errorf("it is not stuck after an hour: %+v", step)
	}
	// A pod that serves nobody is none of the budget's business.
	budget := &policyv1.PodDisruptionBudget{}
	s.must(cluster.Client.Get(t.Context(), client.ObjectKey{Namespace: s.set.Namespace, Name: "strict"}, budget))
	budget.Status.CurrentHealthy = 1
	s.must(cluster.Client.Status().Update(t.Context(), budget))
	pod := s.pod(1)
	pod.Status.Conditions[0].Status, pod.Status.Conditions[0].LastTransitionTime = corev1.ConditionFalse, metav1.Now()
	pod.Status.ContainerStatuses[0].Ready = false
	s.must(cluster.Client.Status().Update(t.Context(), pod))
	s.expect(s.step(), rollout.Replace, "cache-1 serves nobody")
	if !s.gone(1) {
		t.Error("the pod is still there")
	}
}

func TestTwoBudgetsAreExplained(t *testing.T) {
	s := newSuite(t)
	s.budget("one", 1)
	s.budget("two", 1)
	s.want(template("agent:1", 64, "2048"))
	step := s.step()
	s.expect(step, rollout.Wait, "cache-1 cannot be replaced, because more than one PodDisruptionBudget selects it")
	if !step.Stuck || s.gone(1) {
		t.Errorf("the step is %+v, and it is %t that the pod is gone", step, s.gone(1))
	}
}

func TestARefusalIsTold(t *testing.T) {
	s := newSuite(t)
	situation := s.see()
	pod := s.pod(1)
	for _, step := range []rollout.Step{
		{Kind: rollout.Patch, Content: []byte(`{"spec":{"containers":[{"name":"agent","image":" "}]}}`), Why: "cache-1 cannot be changed: "},
		{Kind: rollout.Resize, Content: []byte(`{"spec":{"containers":[{"name":"memcached","resources":{"requests":{"cpu":"2"}}}]}}`), Why: "cache-1 cannot be resized: "},
	} {
		step.Pod = pod
		done, err := s.executor.Do(t.Context(), situation, step)
		s.must(err)
		s.expect(done, rollout.Wait, step.Why)
		if !done.Stuck || done.After <= 0 {
			t.Errorf("the step is %+v", done)
		}
	}
}
