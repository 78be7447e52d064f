package controller_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit/testenv"
)

// conflicts makes writes of the operator fail, as if others were always faster.
type conflicts struct {
	statuses, services atomic.Bool
	refused            atomic.Bool  // No StatefulSet can be written, as if a policy refused it.
	pruned             atomic.Bool  // Statuses are written without their fields, as if the CRD had none of them.
	count              atomic.Int32 // Of Services and StatefulSets.
}

var errConflict = apierrors.NewConflict(schema.GroupResource{}, "cache", errors.New("the object has been modified"))

// newClient returns the operator's client.
func (c *conflicts) newClient(config *rest.Config, options client.Options) (client.Client, error) {
	direct, err := client.NewWithWatch(config, options)
	if err != nil {
		return nil, err
	}
	return interceptor.NewClient(direct, interceptor.Funcs{
		Apply: func(ctx context.Context, direct client.WithWatch, object runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			if kind, ok := object.(interface{ GetKind() string }); c.services.Load() && ok && kind.GetKind() == "Service" {
				c.count.Add(1)
				return errConflict
			}
			if kind, ok := object.(interface{ GetKind() string }); c.refused.Load() && ok && kind.GetKind() == "StatefulSet" {
				c.count.Add(1)
				return apierrors.NewForbidden(appsv1.Resource("statefulsets"), "cache", errors.New("a policy refuses it"))
			}
			return direct.Apply(ctx, object, options...)
		},
		SubResourcePatch: func(
			ctx context.Context, direct client.Client, name string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption,
		) error {
			if c.statuses.Load() && name == "status" {
				return errConflict
			}
			if c.pruned.Load() && name == "status" {
				patch = client.RawPatch(types.MergePatchType, []byte("{}"))
			}
			return direct.SubResource(name).Patch(ctx, object, patch, options...)
		},
	}), nil
}

// awaitConflicts waits until some more writes of Services have conflicted.
func (s *suite) awaitConflicts(more int32) {
	s.Helper()
	before := s.conflicts.count.Load()
	s.Await("more conflicts", func(context.Context) error {
		if now := s.conflicts.count.Load(); now < before+more {
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

// A reconcile whose status conflicts is repeated, but what it has done is done only once.
func TestWhatWasDoneIsToldAlthoughTheStatusConflicts(t *testing.T) {
	s := newSuite(t)
	s.create("cache", 1, inStatefulSet)
	s.awaitReady("cache", 1)
	s.conflicts.statuses.Store(true)
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
	s.conflicts.statuses.Store(false)
	s.awaitReady("cache", 1)
}

// A reconcile that finds its knowledge outdated leaves the nodes alone.
func TestNodesAreLeftAloneWhileAnObjectConflicts(t *testing.T) {
	s := newSuite(t)
	s.create("cache", 1, inStatefulSet)
	s.awaitReady("cache", 1)
	s.conflicts.services.Store(true)
	s.Edit(s.service(), `{"metadata":{"labels":{"app.kubernetes.io/part-of":"other"}}}`)
	s.awaitConflicts(1) // From here on, each reconcile meets one.
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
	s.conflicts.services.Store(false)
	s.Await("the label on the pod", func(ctx context.Context) error {
		if team := s.teamOf(ctx, "cache-0"); team != "shop" {
			return fmt.Errorf("it is %q", team)
		}
		return nil
	})
}

// The CRD of an older release lacks fields of the status, so that writing them changes nothing. The cache is looked after all the
// same.
func TestACacheIsReconciledAlthoughItsStatusCannotBeWritten(t *testing.T) {
	s := newSuite(t)
	s.create("cache", 1)
	s.awaitReady("cache", 1)
	s.conflicts.pruned.Store(true)
	s.Edit(s.memcached("cache"), `{"spec":{"size":2}}`) // Gives a status that differs from the one that is there.
	for range 2 {
		s.Edit(s.deployment("cache"), `{"spec":{"replicas":7}}`)
		s.Await("the size to be put back", func(ctx context.Context) error {
			deployment, err := testenv.Get[appsv1.Deployment](ctx, s.Env, "cache")
			if err == nil && *deployment.Spec.Replicas != 2 {
				err = fmt.Errorf("it is %d", *deployment.Spec.Replicas)
			}
			return err
		})
	}
}

// A policy keeps the operator from repairing a StatefulSet that somebody else has changed. Its pods are not brought to that
// template.
func TestPodsAreNotBroughtToATemplateOfSomebodyElse(t *testing.T) {
	s := newSuite(t)
	s.create("cache", 2, inStatefulSet)
	s.awaitReady("cache", 2)
	before := s.MustPods()
	s.conflicts.refused.Store(true)
	s.Edit(testenv.Named[appsv1.StatefulSet](s.Env, "cache"), `{"spec":{"template":{"metadata":{"labels":{"app.kubernetes.io/part-of":"other"}}}}}`)
	if message := s.awaitReason(v1alpha1.ReasonRejected); !strings.Contains(message, "a policy refuses it") {
		t.Errorf("the message is %q", message)
	}
	s.Await("a new revision", func(ctx context.Context) error {
		set, err := testenv.Get[appsv1.StatefulSet](ctx, s.Env, "cache")
		if err == nil && (set.Status.UpdateRevision == set.Status.CurrentRevision || set.Status.ObservedGeneration != set.Generation) {
			return errors.New("not yet")
		}
		return err
	})
	for _, policy := range []string{"Automatic", "OnRelease"} {
		s.Edit(s.memcached("cache"), fmt.Sprintf(`{"spec":{"updates":{"policy":%q}}}`, policy)) // Is reconciled, and changes nothing.
		s.awaitConflicts(1)
	}
	label := testenv.MustGet[corev1.Pod](s.Env, "cache-1").Labels["app.kubernetes.io/part-of"]
	if after := s.MustPods(); !maps.Equal(after, before) || label != "cache" {
		t.Errorf("pods were %v, and are %v; the label of cache-1 is %q", before, after, label)
	}
	s.conflicts.refused.Store(false)
	s.Edit(s.memcached("cache"), `{"spec":{"size":3}}`) // Otherwise it is looked at within a minute.
	s.awaitReady("cache", 3)
}
