package controller_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/internal/testkit/testenv"
	"github.com/example/memcached-operator/operator/kube/pods"
)

// pullPods returns the pods that pull images.
func (s *suite) pullPods(ctx context.Context) ([]corev1.Pod, error) {
	found := &corev1.PodList{}
	err := cluster.Client.List(ctx, found, client.InNamespace(s.Namespace), client.MatchingLabels{"app.kubernetes.io/component": "pull"})
	return found.Items, err
}

// events returns the events of a reason.
func (s *suite) events(reason string) []corev1.Event {
	s.Helper()
	found := &corev1.EventList{}
	if err := cluster.Client.List(s.Context(), found, client.InNamespace(s.Namespace), client.MatchingFields{"reason": reason}); err != nil {
		s.Fatal(err)
	}
	return found.Items
}

func TestImagesArePulledBeforePodsRestart(t *testing.T) {
	s := newSuite(t)
	before := s.createReady(inStatefulSet)
	if pulls, err := s.pullPods(t.Context()); err != nil || len(pulls) > 0 {
		t.Errorf("a new cache pulls images with %d pods: %v", len(pulls), err)
	}
	s.upgrade()
	s.awaitAgents(newAgent)
	s.keeps(before)
	var order []string
	for _, write := range s.Operator.Traffic.Writes() {
		if strings.Contains(write.Path, "/pods") || strings.HasSuffix(write.Path, "/statefulsets/cache") {
			order = append(order, write.Method+" "+write.Path[strings.LastIndex(write.Path, "/")+1:])
		}
	}
	if got, want := strings.Join(order[:min(len(order), 3)], ", "), "POST pods, PATCH cache, PATCH cache-1"; got != want {
		t.Errorf("the writes are %s, want %s at first", order, want)
	}
	s.Await("the pods that pull images to go", func(ctx context.Context) error {
		pulls, err := s.pullPods(ctx)
		if err == nil && len(pulls) > 0 {
			err = fmt.Errorf("there are %d", len(pulls))
		}
		return err
	})
}

// The pods go on with the image that they have, and other changes are made.
func TestAnImageThatCannotBePulledIsPending(t *testing.T) {
	s := newSuite(t)
	before := s.createReady(inStatefulSet)
	s.HoldContainers("ImagePullBackOff")
	s.upgrade()
	waits := s.pending(true)
	if changes := waits.Status.Pending.Changes; len(changes) != 1 || changes[0].Field != "agentImage" ||
		!strings.Contains(changes[0].Reason, `On node node, the image "`+newAgent+`" of container agent cannot be pulled (ImagePullBackOff)`) {
		t.Errorf("pending is %+v", waits.Status.Pending)
	}
	s.AwaitEvent(v1alpha1.EventImageNotPulled, `On node node, the image "`+newAgent+`" of container agent cannot be pulled (ImagePullBackOff)`)
	s.HoldContainers("")
	s.Edit(s.memcached("cache"), `{"spec":{"podLabels":{"team":"shop"},"size":3}}`)
	s.awaitReady("cache", 3)
	for name := range s.MustPods() {
		if pod := testenv.MustGet[corev1.Pod](s.Env, name); pod.Labels["team"] != "shop" || pod.Spec.Containers[1].Image != oldAgent {
			t.Errorf("%s has the labels %v and the agent %s", name, pod.Labels, pod.Spec.Containers[1].Image)
		}
	}
	s.Edit(s.memcached("cache"), `{"spec":{"size":2,"updates":{"release":"`+s.pending(true).Status.Pending.ID+`"}}}`)
	s.awaitAgents(newAgent)
	s.pending(false)
	s.keeps(before)
	for _, event := range s.events(v1alpha1.EventImageNotPulled) {
		if event.Count != 1 || event.Type != corev1.EventTypeWarning {
			t.Errorf("the event of type %s comes %d times: %s", event.Type, event.Count, event.Message)
		}
	}
}

// All pods are deleted at the same time, so none runs on the node where the image is known not to come. The new ones start with the image of
// before.
func TestNewPodsDoNotGetAnImageThatCannotBePulled(t *testing.T) {
	s := newSuite(t)
	before := s.createReady(inStatefulSet)
	s.HoldContainers("ImagePullBackOff")
	s.upgrade()
	s.pending(true)
	s.HoldContainers("")
	for name := range before {
		s.Delete(testenv.MustGet[corev1.Pod](s.Env, name))
	}
	s.Await("other pods to be ready", func(ctx context.Context) error {
		for name, uid := range before {
			now, err := testenv.Get[corev1.Pod](ctx, s.Env, name)
			if err == nil && (now.UID == uid || !pods.Ready(now)) {
				err = fmt.Errorf("%s is not", name)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	s.awaitReady("cache", 2)
	s.awaitAgents(oldAgent)
	s.pending(true)
}

func TestAnImageOfTheUsersThatCannotBePulled(t *testing.T) {
	s := newSuite(t)
	before := s.createReady(inStatefulSet)
	s.HoldContainers("ErrImagePull")
	s.Edit(s.memcached("cache"), `{"spec":{"image":"memcached:of-nobody"}}`)
	want := `On node node, the image "memcached:of-nobody" of container memcached cannot be pulled (ImagePullBackOff)`
	if message := s.awaitReason(v1alpha1.ReasonUpdateStuck); message != want {
		t.Errorf("the message is %q, want %q", message, want)
	}
	s.pending(true)
	s.HoldContainers("")
	s.Edit(s.memcached("cache"), `{"spec":{"image":null}}`)
	s.awaitReady("cache", 2)
	s.pending(false)
	s.keeps(before)
}

// Where pods that pull images are refused, the user decides. An automatic update goes on.
func TestPullPodsThatAreRefused(t *testing.T) {
	s := newSuite(t)
	s.create("cache", 2, inStatefulSet)
	s.awaitReady("cache", 2)
	refusal, allow := s.ForbidPods()
	defer allow()
	s.upgrade()
	if reason := s.pending(true).Status.Pending.Changes[0].Reason; !strings.Contains(reason, refusal) {
		t.Errorf("the reason is %q", reason)
	}
	s.awaitReady("cache", 2)
	s.awaitAgents(oldAgent)
	s.Edit(s.memcached("cache"), `{"spec":{"updates":{"policy":"Automatic"}}}`)
	s.awaitAgents(newAgent)
}

// A policy may change images when pods are created, and not when they are changed. What was pulled is what the pods get.
func TestThePulledImageIsUsed(t *testing.T) {
	const mirrored = `object.spec.containers.map(c, c.name == "probe" || c.name == "agent").exists(x, x)`
	s := newSuite(t)
	s.MutateCreatedPods("mirror", mirrored,
		`object.spec.containers.map(c, JSONPatch{op: "replace", path: "/spec/containers/" + string(object.spec.containers.map(d, d.name).indexOf(c.name)) + "/image", value: "mirror.example.com/" + c.image})`)
	s.create("cache", 2, inStatefulSet)
	s.awaitReady("cache", 2)
	s.awaitAgents("mirror.example.com/" + oldAgent)
	before := s.MustPods()
	s.upgrade()
	s.awaitAgents("mirror.example.com/" + newAgent)
	s.keeps(before)
}

// The operator may list pods, and not get one. Without the name of the pod, nobody would find out what to delete.
func TestAForeignPodThatHasTheNameOfAPullPodIsReported(t *testing.T) {
	s := newSuite(t)
	s.createReady(inStatefulSet)
	s.HoldContainers("ImagePullBackOff")
	s.upgrade()
	var pull *corev1.Pod
	s.Await("a pod that pulls images", func(ctx context.Context) error {
		pulls, err := s.pullPods(ctx)
		if err == nil && len(pulls) != 1 {
			return fmt.Errorf("there are %d", len(pulls))
		}
		pull = &pulls[0]
		return err
	})
	s.Operator.Stop()
	s.Delete(pull, client.GracePeriodSeconds(0))
	foreign := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: pull.Name}, Spec: corev1.PodSpec{
		AutomountServiceAccountToken: ptr.To(false), Containers: []corev1.Container{{Name: "foreign", Image: "foreign"}},
	}}
	s.Await("a pod of somebody else", func(ctx context.Context) error { return cluster.Client.Create(ctx, foreign.DeepCopy()) })
	s.StartOperator()
	want := "pod " + pull.Name + ", which is to pull images, belongs to somebody else or was changed: delete it"
	s.Await(want, func(ctx context.Context) error {
		found, err := testenv.Get[v1alpha1.Memcached](ctx, s.Env, "cache")
		if err == nil && (found.Status.Pending == nil || !strings.Contains(found.Status.Pending.Changes[0].Reason, want)) {
			err = fmt.Errorf("pending is %+v, conditions are %+v", found.Status.Pending, found.Status.Conditions)
		}
		return err
	})
}
