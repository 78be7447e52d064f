package controller_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit/testenv"
)

// A new cache costs one write for each of its objects (record, Deployment, Service, Secret), one for its status, and no read.
func TestANewCacheBecomesReadyWithFiveWrites(t *testing.T) {
	s := newSuite(t)
	created := time.Now()
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
	deployment := testenv.MustGet[appsv1.Deployment](s.Env, "example-memcached")
	if !metav1.IsControlledBy(deployment, ready) || deployment.Spec.Template.Spec.Containers[0].Image != image {
		t.Errorf("the Deployment is not the cache's, or does not run the image: %+v", deployment)
	}
	s.AssertQuiet(s.memcached("example-memcached"), s.deployment("example-memcached"))
	writes := s.Operator.Traffic.Writes()
	s.AssertWrites(5, created, writes)
	if reads := s.Operator.Traffic.LiveReads(); len(reads) > 0 {
		t.Errorf("reads for a new cache: %v", reads)
	}
	for _, write := range writes {
		if write.Method != http.MethodPatch || write.Code >= 300 {
			t.Errorf("unexpected write %v", write)
		}
	}
}

// A cluster holds far more Deployments and pods than are ours; they must not fill the operator's memory.
func TestOnlyOurObjectsAreWatched(t *testing.T) {
	s := newSuite(t)
	s.create("cache", 1)
	s.awaitReady("cache", 1)
	s.AssertWatchesOnlyOurs()
}

// A larger size costs a write of the scale and one of the status, and no read.
func TestALargerSizeCostsTwoWrites(t *testing.T) {
	s := newSuite(t)
	s.create("cache", 1)
	s.awaitReady("cache", 1)
	writes, reads, changed := len(s.Operator.Traffic.Writes()), len(s.Operator.Traffic.LiveReads()), time.Now()
	s.Edit(s.memcached("cache"), `{"spec":{"size":2}}`)
	s.awaitReady("cache", 2)
	s.AssertQuiet(s.memcached("cache"), s.deployment("cache"))
	s.AssertWrites(2, changed, s.Operator.Traffic.Writes()[writes:])
	if now := s.Operator.Traffic.LiveReads(); len(now) != reads {
		t.Errorf("reads for a larger size: %v", now[reads:])
	}
}

func TestScalingKeepsTheNodesThatStay(t *testing.T) {
	s := newSuite(t)
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
	s := newSuite(t)
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
	s := newSuite(t)
	s.create("cache", 1)
	s.awaitReady("cache", 1)
	s.ScaleFromOne(s.memcached("cache"), 3)
	s.awaitReady("cache", 3)
}

// An operator that has just been upgraded or has just become the leader must not disturb anything.
func TestARestartedOperatorWritesNothing(t *testing.T) {
	s := newSuite(t)
	s.create("example-memcached", 2)
	s.awaitReady("example-memcached", 2)
	s.AssertRestartWritesNothing(s.memcached("example-memcached"), s.deployment("example-memcached"))
}

func TestADeletedCacheIsLeftToTheGarbageCollector(t *testing.T) {
	s := newSuite(t)
	object := s.create("cache", 1)
	s.awaitReady("cache", 1)
	s.Delete(object)
	// No finalizer: it is gone at once.
	if _, err := testenv.Get[v1alpha1.Memcached](t.Context(), s.Env, "cache"); !apierrors.IsNotFound(err) {
		t.Errorf("after the deletion: %v", err)
	}
	s.Await("everything is gone", func(ctx context.Context) error {
		pods, err := s.Pods(ctx, nil)
		if err != nil || len(pods) > 0 {
			return fmt.Errorf("%v %w", pods, err)
		}
		if _, err = testenv.Get[appsv1.Deployment](ctx, s.Env, "cache"); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the Deployment is there: %w", err)
		}
		return nil
	})
}

func TestRefusedAndFailingNodesAreReported(t *testing.T) {
	s := newSuite(t)
	refusal, allow := s.ForbidPods()
	s.create("cache", 1)
	if message := s.awaitReason(v1alpha1.ReasonNodesRefused); !strings.Contains(message, refusal) {
		t.Errorf("the message is %q", message)
	}
	s.HoldContainers("ImagePullBackOff")
	allow()
	message := s.awaitReason(v1alpha1.ReasonNodesFailing)
	for pod := range s.MustPods() {
		want := "1 of 1 pod is failing: pod " + pod + `: the image "` + image + `" of container memcached cannot be pulled (ImagePullBackOff)`
		if message != want {
			t.Errorf("the message is %q, want %q", message, want)
		}
	}
}
