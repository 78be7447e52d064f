package controller_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit/testenv"
)

// rivals are others who are always faster than the operator with what is on.
type rivals struct {
	statuses, services atomic.Bool
	faster             atomic.Int32 // How often they were, with Services.
}

var errConflict = apierrors.NewConflict(schema.GroupResource{}, "cache", errors.New("the object has been modified"))

// rivalled is a client that has rivals.
type rivalled struct {
	client.Client
	*rivals
}

// Apply implements client.Writer.
func (r rivalled) Apply(ctx context.Context, object runtime.ApplyConfiguration, options ...client.ApplyOption) error {
	if kind, ok := object.(interface{ GetKind() string }); r.services.Load() && ok && kind.GetKind() == "Service" {
		r.faster.Add(1)
		return errConflict
	}
	return r.Client.Apply(ctx, object, options...)
}

// Status implements client.StatusClient.
func (r rivalled) Status() client.SubResourceWriter {
	return rivalledStatus{r.Client.Status(), r.rivals}
}

type rivalledStatus struct {
	client.SubResourceWriter
	*rivals
}

// Patch implements client.SubResourceWriter.
func (r rivalledStatus) Patch(
	ctx context.Context, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption,
) error {
	if r.statuses.Load() {
		return errConflict
	}
	return r.SubResourceWriter.Patch(ctx, object, patch, options...)
}

// awaitConflicts waits until some more writes of Services have conflicted.
func (s *suite) awaitConflicts(more int32) {
	s.Helper()
	before := s.rivals.faster.Load()
	s.Await("more conflicts", func(context.Context) error {
		if now := s.rivals.faster.Load(); now < before+more {
			return fmt.Errorf("%d so far", now-before)
		}
		return nil
	})
}

// teamOf returns the label "team" of a pod.
func (s *suite) teamOf(ctx context.Context, name string) string {
	s.Helper()
	pod, err := testenv.Get[corev1.Pod](ctx, s.Env, name)
	if err != nil {
		s.Fatal(err)
	}
	return pod.Labels["team"]
}

// A pass whose status conflicts is repeated, but what it has done is done only once.
func TestWhatWasDoneIsToldAlthoughTheStatusConflicts(t *testing.T) {
	s := newSuite(t)
	s.create("cache", 1, inSlots)
	s.awaitReady("cache", 1)
	s.rivals.statuses.Store(true)
	s.Edit(s.memcached("cache"), `{"spec":{"podLabels":{"team":"shop"}}}`)
	s.Await("the label on the pod", func(ctx context.Context) error {
		if team := s.teamOf(ctx, "cache-0"); team != "shop" {
			return fmt.Errorf("it is %q", team)
		}
		return nil
	})
	s.AwaitEvent(v1alpha1.EventNodeUpdating, "cache-0")
	s.Edit(s.service(), `{"metadata":{"labels":{"app.kubernetes.io/part-of":"other"}}}`)
	s.AwaitEvent(v1alpha1.EventDriftRepaired, "Service cache-nodes", "part-of")
	s.rivals.statuses.Store(false)
	s.awaitReady("cache", 1)
}

// Nodes are left alone by a pass that has found its knowledge outdated.
func TestNodesAreLeftAloneWhileAnObjectConflicts(t *testing.T) {
	s := newSuite(t)
	s.create("cache", 1, inSlots)
	s.awaitReady("cache", 1)
	s.rivals.services.Store(true)
	s.Edit(s.service(), `{"metadata":{"labels":{"app.kubernetes.io/part-of":"other"}}}`)
	s.awaitConflicts(1) // From here on, each pass meets one.
	s.Edit(s.memcached("cache"), `{"spec":{"podLabels":{"team":"shop"}}}`)
	s.Await("a new revision", func(ctx context.Context) error {
		set, err := testenv.Get[appsv1.StatefulSet](ctx, s.Env, "cache")
		if err == nil && (set.Spec.Template.Labels["team"] != "shop" || set.Status.ObservedGeneration != set.Generation) {
			return errors.New("not yet")
		}
		return err
	})
	s.awaitConflicts(3)
	if team := s.teamOf(t.Context(), "cache-0"); team != "" {
		t.Errorf("the pod has the label %q", team)
	}
	s.rivals.services.Store(false)
	s.Await("the label on the pod", func(ctx context.Context) error {
		if team := s.teamOf(ctx, "cache-0"); team != "shop" {
			return fmt.Errorf("it is %q", team)
		}
		return nil
	})
}
