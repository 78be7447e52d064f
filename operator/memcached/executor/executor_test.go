package executor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/memcached/executor"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/update/rollout"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// fixture is a StatefulSet with its pods in a namespace of its own. The test does the work of all controllers and of the kubelet.
type fixture struct {
	*testing.T
	set      *appsv1.StatefulSet
	executor *executor.Executor
	state    *agentapi.State
	elapsed  time.Duration // Added to the time of an input.
}

var labels = map[string]string{"app": "cache"}

func template(image string, memory int64, connections string) corev1.PodTemplateSpec {
	list := func(cpu string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: *resource.NewQuantity((memory+64)<<20, resource.BinarySI)}
	}
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{agentapi.CacheMemoryAnnotation: fmt.Sprint(memory)}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: "memcached", Image: "memcached:1.6.18", Command: []string{"memcached"}, Args: []string{"-m", fmt.Sprint(memory), "-c", connections},
				Resources: corev1.ResourceRequirements{Requests: list("50m"), Limits: list("1")}},
			{Name: "agent", Image: image},
		}},
	}
}

// newFixture creates two pods that are ready and up to date.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	t.Parallel()
	f := &fixture{
		T: t, executor: &executor.Executor{Client: cluster.Client, Live: cluster.Client},
		state: &agentapi.State{Process: 1, Items: 100, CacheMemory: 64},
		set: &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace(t), Name: "cache"},
			Spec: appsv1.StatefulSetSpec{
				Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template("agent:1", 64, "1024"),
				UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
			},
		},
	}
	f.must(cluster.Client.Create(t.Context(), f.set))
	f.createRevision()
	for ordinal := range 2 {
		f.create(ordinal)
	}
	return f
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// createRevision creates a ControllerRevision of the template, as the StatefulSet controller does.
func (f *fixture) createRevision() {
	f.Helper()
	raw, err := json.Marshal(map[string]any{"spec": map[string]any{"template": f.set.Spec.Template}})
	f.must(err)
	revision := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.set.Namespace, Name: fmt.Sprintf("cache-%d", f.set.Generation)},
		Data:       runtime.RawExtension{Raw: raw}, Revision: f.set.Generation,
	}
	f.must(cluster.Client.Create(f.Context(), revision))
	f.set.Status.ObservedGeneration, f.set.Status.UpdateRevision = f.set.Generation, revision.Name
	f.must(cluster.Client.Status().Update(f.Context(), f.set))
}

func (f *fixture) create(ordinal int) {
	f.Helper()
	pod := &corev1.Pod{ObjectMeta: *f.set.Spec.Template.ObjectMeta.DeepCopy(), Spec: *f.set.Spec.Template.Spec.DeepCopy()}
	pod.Namespace, pod.Name = f.set.Namespace, fmt.Sprintf("cache-%d", ordinal)
	pod.Labels[appsv1.ControllerRevisionHashLabelKey] = f.set.Status.UpdateRevision
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "cache", UID: f.set.UID, Controller: ptr.To(true)}}
	f.must(cluster.Client.Create(f.Context(), pod))
	f.kubelet(ordinal)
}

// kubelet writes the status of a pod whose containers have restarted with the present spec.
func (f *fixture) kubelet(ordinal int) {
	f.Helper()
	pod := f.pod(ordinal)
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
	f.must(cluster.Client.Status().Update(f.Context(), pod))
}

func (f *fixture) pod(ordinal int) *corev1.Pod {
	f.Helper()
	pod := &corev1.Pod{}
	f.must(cluster.Client.Get(f.Context(), client.ObjectKey{Namespace: f.set.Namespace, Name: fmt.Sprintf("cache-%d", ordinal)}, pod))
	return pod
}

// want changes the template, and creates its ControllerRevision.
func (f *fixture) want(template corev1.PodTemplateSpec) {
	f.Helper()
	f.set.Spec.Template = template
	f.must(cluster.Client.Update(f.Context(), f.set))
	f.createRevision()
}

// input returns what there is now.
func (f *fixture) input() rollout.Input {
	f.Helper()
	pods, revisions := &corev1.PodList{}, &appsv1.ControllerRevisionList{}
	f.must(cluster.Client.List(f.Context(), pods, client.InNamespace(f.set.Namespace)))
	f.must(cluster.Client.List(f.Context(), revisions, client.InNamespace(f.set.Namespace)))
	return rollout.Input{
		StatefulSet: f.set.DeepCopy(), Pods: pods.Items, Revisions: revisions.Items, Approved: true,
		Features: inputs.Features{Resize: true, Shrink: true}, Version: func(string) string { return "" }, Now: time.Now().Add(f.elapsed),
		States: map[string]*agentapi.State{"cache-0": f.state, "cache-1": f.state},
	}
}

// step makes the next step.
func (f *fixture) step() rollout.Step {
	f.Helper()
	input := f.input()
	step, err := rollout.Next(input)
	f.must(err)
	done, err := f.executor.Do(context.Background(), input, step)
	f.must(err)
	return done
}

func (f *fixture) expect(step rollout.Step, kind rollout.Kind, message string) {
	f.Helper()
	if step.Kind != kind || !strings.Contains(step.Message, message) {
		f.Fatalf("the step is %s: %s\nwant %s: %s", step.Kind, step.Message, kind, message)
	}
}

func (f *fixture) gone(ordinal int) bool {
	f.Helper()
	pod := &corev1.Pod{}
	err := cluster.Client.Get(f.Context(), client.ObjectKey{Namespace: f.set.Namespace, Name: fmt.Sprintf("cache-%d", ordinal)}, pod)
	f.must(client.IgnoreNotFound(err))
	return apierrors.IsNotFound(err) || pod.DeletionTimestamp != nil
}

// A change of memory and agent needs every kind of step that keeps a pod.
func TestAChangeInPlace(t *testing.T) {
	f := newFixture(t)
	uid := f.pod(1).UID
	f.expect(f.step(), rollout.None, "")
	f.want(template("agent:2", 128, "1024"))
	f.expect(f.step(), rollout.Patch, "cache-1 is changed in place")
	f.expect(f.step(), rollout.Resize, "cache-1 is resized")
	if limit := f.pod(1).Spec.Containers[0].Resources.Limits.Memory(); limit.Value() != 192<<20 {
		t.Errorf("the limit is %s", limit)
	}
	f.expect(f.step(), rollout.Wait, "the kubelet has not acted on the change of cache-1 yet")
	f.kubelet(1)
	f.expect(f.step(), rollout.Patch, "agentImage (Live)")
	pod := f.pod(1)
	if pod.Spec.Containers[1].Image != "agent:2" || pod.Annotations[agentapi.CacheMemoryAnnotation] != "128" {
		t.Errorf("the pod has the image %s and annotations %v", pod.Spec.Containers[1].Image, pod.Annotations)
	}
	f.expect(f.step(), rollout.Wait, "agent in cache-1 is restarting")
	f.kubelet(1)
	f.expect(f.step(), rollout.Wait, "memcached in cache-1 does not use 128Mi for items yet")
	f.state.CacheMemory = 128
	f.expect(f.step(), rollout.Patch, "cache-1 is up to date")
	pod = f.pod(1)
	if _, left := pod.Annotations[rollout.UpdateAnnotation]; left || pod.UID != uid ||
		pod.Labels[appsv1.ControllerRevisionHashLabelKey] != f.set.Status.UpdateRevision {
		t.Errorf("the pod has %v and %v", pod.Labels, pod.Annotations)
	}
	f.expect(f.step(), rollout.Patch, "cache-0 is changed in place")
}

func TestARefusalIsReported(t *testing.T) {
	f := newFixture(t)
	input := f.input()
	pod := f.pod(1)
	for _, step := range []rollout.Step{
		{Kind: rollout.Patch, Patch: []byte(`{"spec":{"containers":[{"name":"agent","image":" "}]}}`), Message: "cache-1 cannot be changed: "},
		{Kind: rollout.Resize, Patch: []byte(`{"spec":{"containers":[{"name":"memcached","resources":{"requests":{"cpu":"2"}}}]}}`), Message: "cache-1 cannot be resized: "},
	} {
		step.Pod = pod
		done, err := f.executor.Do(t.Context(), input, step)
		f.must(err)
		f.expect(done, rollout.Wait, step.Message)
		if !done.Stuck || done.After <= 0 {
			t.Errorf("the step is %+v", done)
		}
	}
}

// A policy or webhook may put back what a step changes. Nobody repeats the step for ever.
func TestAStepThatIsUndoneIsReported(t *testing.T) {
	f := newFixture(t)
	input, pod := f.input(), f.pod(1)
	step := rollout.Step{Kind: rollout.Patch, Pod: pod, Patch: []byte(`{"spec":{"containers":[{"name":"agent","image":"agent:1"}]}}`)}
	done, err := f.executor.Do(t.Context(), input, step)
	f.must(err)
	f.expect(done, rollout.Wait, "cache-1 is not changed, because an admission policy or webhook undoes the change")
	if !done.Stuck || done.After <= 0 {
		t.Errorf("the step is %+v", done)
	}
}

// failing is a client whose patches fail.
type failing struct{ client.Client }

func (c failing) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	return errors.New("the API server is overloaded")
}

func TestAPodIsNotUpToDateAfterAPatchThatFailed(t *testing.T) {
	f := newFixture(t)
	next := template("agent:1", 64, "1024")
	next.Labels = map[string]string{"app": "cache", "new": "label"}
	f.want(next)
	input := f.input()
	step, err := rollout.Next(input)
	f.must(err)
	before := input.Progress(rollout.Step{}).Updated
	step, err = (&executor.Executor{Client: failing{cluster.Client}, Live: cluster.Client}).Do(t.Context(), input, step)
	if err == nil {
		t.Fatal("no error")
	}
	if after := input.Progress(step).Updated; after != before {
		t.Errorf("%d pods are up to date, were %d: %s", after, before, step.Message)
	}
}
