package controller_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
)

// The lower bound of writes for a new cache is four: Deployment, Service, Secret, and a status. One more tells that it has
// begun.
func TestANewCacheBecomesReadyWithFiveWrites(t *testing.T) {
	s := newStory(t)
	s.create("example-memcached", 3)
	ready := s.awaitReady("example-memcached", 3)

	if ready.Status.Replicas != 3 || !slices.IsSorted(ready.Status.Nodes) {
		t.Errorf("status is %+v", ready.Status)
	}
	for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionAvailable} {
		if !meta.IsStatusConditionTrue(ready.Status.Conditions, kind) {
			t.Errorf("%s is not True: %+v", kind, ready.Status.Conditions)
		}
	}
	for _, kind := range []string{v1alpha1.ConditionProgressing, v1alpha1.ConditionDegraded} {
		if !meta.IsStatusConditionFalse(ready.Status.Conditions, kind) {
			t.Errorf("%s is not False: %+v", kind, ready.Status.Conditions)
		}
	}
	deployment, err := get[appsv1.Deployment](t.Context(), s, "example-memcached")
	if err != nil {
		t.Fatal(err)
	}
	if !metav1.IsControlledBy(deployment, ready) || deployment.Spec.Template.Spec.Containers[0].Image != image {
		t.Errorf("the Deployment is not the cache's, or does not run the image: %+v", deployment)
	}
	s.AssertQuiet(s.memcached("example-memcached"), s.deployment("example-memcached"))
	writes := s.Operator.Traffic.Writes()
	t.Logf("writes for a new cache: %v", writes)
	if len(writes) > 5 || len(writes) < 4 {
		t.Errorf("%d writes for a new cache, want 4 or 5: %v", len(writes), writes)
	}
	for _, write := range writes {
		if write.Method != http.MethodPatch || write.Code >= 300 {
			t.Errorf("unexpected write %v", write)
		}
	}
}

// A cluster holds far more Deployments and pods than are ours; they must not fill the operator's memory.
func TestOnlyOurObjectsAreWatched(t *testing.T) {
	s := newStory(t)
	s.create("cache", 1)
	s.awaitReady("cache", 1)
	watched := map[string]string{}
	for _, watch := range s.Operator.Traffic.Watches() {
		watched[path.Base(watch.Path)] = watch.Query.Get("labelSelector")
	}
	const ours = "app.kubernetes.io/managed-by=memcached-operator"
	want := map[string]string{
		"memcacheds": "", "applications": "", "deployments": ours, "statefulsets": ours, "services": ours, "secrets": ours, "pods": ours,
		"networkpolicies": ours, "poddisruptionbudgets": ours, "ingresses": ours,
	}
	if difference := cmp.Diff(want, watched); difference != "" {
		t.Errorf("watched kinds and their selectors (-want +got):\n%s", difference)
	}
}

func TestScalingKeepsTheNodesThatStay(t *testing.T) {
	s := newStory(t)
	s.create("memcached-sample", 2)
	two := s.awaitReady("memcached-sample", 2)
	s.Edit(s.memcached("memcached-sample"), `{"spec":{"size":3}}`)
	three := s.awaitReady("memcached-sample", 3)
	for _, node := range two.Status.Nodes {
		if !slices.Contains(three.Status.Nodes, node) {
			t.Errorf("node %s was replaced: %v became %v", node, two.Status.Nodes, three.Status.Nodes)
		}
	}
	s.Edit(s.memcached("memcached-sample"), `{"spec":{"size":1}}`)
	one := s.awaitReady("memcached-sample", 1)
	if !slices.Contains(three.Status.Nodes, one.Status.Nodes[0]) {
		t.Errorf("the node that should have stayed was replaced: %v became %v", three.Status.Nodes, one.Status.Nodes)
	}
}

func TestSizeZeroStopsAllNodesAndIsReady(t *testing.T) {
	s := newStory(t)
	s.create("cache", 2)
	s.awaitReady("cache", 2)
	s.Edit(s.memcached("cache"), `{"spec":{"size":0}}`)
	s.awaitReady("cache", 0)
	s.Edit(s.memcached("cache"), `{"spec":{"size":1}}`)
	s.awaitReady("cache", 1)
	s.create("empty", 0)
	s.awaitReady("empty", 0)
}

func TestTheScaleSubresourceWorks(t *testing.T) {
	s := newStory(t)
	s.create("cache", 1)
	s.awaitReady("cache", 1)
	scale := &autoscalingv1.Scale{}
	if err := cluster.Client.SubResource("scale").Get(t.Context(), s.memcached("cache"), scale); err != nil {
		t.Fatal(err)
	}
	if scale.Spec.Replicas != 1 || scale.Status.Replicas != 1 {
		t.Errorf("scale is %+v", scale)
	}
	selector, err := metav1.ParseToLabelSelector(scale.Status.Selector)
	if err != nil {
		t.Fatal(err)
	}
	pods := &corev1.PodList{}
	if err := cluster.Client.List(t.Context(), pods, client.InNamespace(s.Namespace), client.MatchingLabels(selector.MatchLabels)); err != nil {
		t.Fatal(err)
	}
	if len(pods.Items) != 1 {
		t.Errorf("the selector %q finds %d pods", scale.Status.Selector, len(pods.Items))
	}
	scale.Spec.Replicas = 3
	if err := cluster.Client.SubResource("scale").Update(t.Context(), s.memcached("cache"), client.WithSubResourceBody(scale)); err != nil {
		t.Fatal(err)
	}
	s.awaitReady("cache", 3)
}

// An operator that has just been upgraded or has just become the leader must not disturb anything.
func TestARestartedOperatorWritesNothing(t *testing.T) {
	s := newStory(t)
	s.create("example-memcached", 2)
	s.awaitReady("example-memcached", 2)
	s.Operator.Stop()
	s.StartOperator()
	s.Await("a reconcile", func(context.Context) error {
		if s.Reconciles() == 0 {
			return errors.New("none yet")
		}
		return nil
	})
	s.AssertQuiet(s.memcached("example-memcached"), s.deployment("example-memcached"))
	if writes := s.Operator.Traffic.Writes(); len(writes) > 0 {
		t.Errorf("the restarted operator wrote %v", writes)
	}
}

func TestADeletedCacheIsLeftToTheGarbageCollector(t *testing.T) {
	s := newStory(t)
	object := s.create("cache", 1)
	s.awaitReady("cache", 1)
	if err := cluster.Client.Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	// No finalizer: it is gone at once.
	if _, err := get[v1alpha1.Memcached](t.Context(), s, "cache"); !apierrors.IsNotFound(err) {
		t.Errorf("after the deletion: %v", err)
	}
	s.Kubernetes.CollectGarbage(t, object.UID)
	s.Await("everything is gone", func(ctx context.Context) error {
		pods, err := s.PodNames(ctx)
		if err != nil || len(pods) > 0 {
			return fmt.Errorf("%v %w", pods, err)
		}
		if _, err = get[appsv1.Deployment](ctx, s, "cache"); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the Deployment is there: %w", err)
		}
		return nil
	})
}

func TestRefusedAndFailingNodesAreReported(t *testing.T) {
	s := newStory(t)
	s.Kubernetes.Refuse(`pods "cache-5d9c8b7f4d-x7k2p" is forbidden: exceeded quota: small`)
	s.create("cache", 1)
	if message := s.awaitReason(v1alpha1.ReasonNodesRefused); !strings.Contains(message, "exceeded quota: small") {
		t.Errorf("the message is %q", message)
	}
	s.Kubernetes.Sicken(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}})
	s.Kubernetes.Refuse("")
	if message := s.awaitReason(v1alpha1.ReasonNodesFailing); !strings.Contains(message, "image cannot be pulled") {
		t.Errorf("the message is %q", message)
	}
}
