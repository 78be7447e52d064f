package controller_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit/testenv"
)

// inStatefulSet asks for a StatefulSet.
func inStatefulSet(spec *v1alpha1.MemcachedSpec) { spec.Workload = v1alpha1.WorkloadStatefulSet }

func TestPodsOfAStatefulSetKeepTheirNames(t *testing.T) {
	s := newSuite(t)
	s.create("cache", 3, inStatefulSet)
	ready := s.awaitReady("cache", 3)
	var hosts []string
	for _, endpoint := range ready.Status.Endpoints {
		hosts = append(hosts, endpoint.Host)
		if !endpoint.Ready || endpoint.Items != v1alpha1.ItemsCold || endpoint.Version != "1.6.18" || endpoint.Since == nil {
			t.Errorf("an endpoint is %+v", endpoint)
		}
	}
	suffix := ".cache-nodes." + s.Namespace + ".svc"
	if want := []string{"cache-0" + suffix, "cache-1" + suffix, "cache-2" + suffix}; !slices.Equal(hosts, want) {
		t.Errorf("hosts are %v, want %v", hosts, want)
	}
	s.AssertQuiet(s.memcached("cache"), &appsv1.StatefulSet{ObjectMeta: s.deployment("cache").ObjectMeta})
}

// A label is changed on the running pods: none of them is replaced.
func TestALabelIsChangedInPlace(t *testing.T) {
	s := newSuite(t)
	s.create("cache", 2, inStatefulSet)
	s.awaitReady("cache", 2)
	before := s.MustPods()
	s.Edit(s.memcached("cache"), `{"spec":{"podLabels":{"team":"shop"}}}`)
	s.Await("the label on every pod", func(ctx context.Context) error {
		for name := range before {
			pod, err := testenv.Get[corev1.Pod](ctx, s.Env, name)
			if err != nil {
				return err
			}
			if pod.Labels["team"] != "shop" {
				return fmt.Errorf("%s has the labels %v", name, pod.Labels)
			}
		}
		return nil
	})
	s.awaitReady("cache", 2)
	if difference := cmp.Diff(before, s.MustPods()); difference != "" {
		t.Errorf("pods were replaced:\n%s", difference)
	}
	s.AwaitEvent(v1alpha1.EventNodeUpdating, "cache-1")
	s.AwaitEvent(v1alpha1.EventNodeUpdating, "cache-0")
}

func TestAnIgnoredRestartIsAWarning(t *testing.T) {
	s := newSuite(t)
	before := s.createReady(inStatefulSet)
	s.Edit(testenv.Named[appsv1.StatefulSet](s.Env, "cache"),
		`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"2026-05-04T08:00:00Z"}}}}}`)
	for name := range before {
		s.AwaitEvent(v1alpha1.EventRestartIgnored, name+" was not restarted: kubectl rollout restart does not restart the pods of a StatefulSet")
	}
	s.awaitReady("cache", 2)
	s.keeps(before)
	if events := s.events(v1alpha1.EventRestartIgnored); events[0].Type != corev1.EventTypeWarning {
		t.Errorf("the events are %+v", events)
	}
}

// The user's own cold change replaces the pods one by one, the highest ordinal first.
func TestAColdChangeOfTheUsersReplacesPodByPod(t *testing.T) {
	s := newSuite(t)
	s.create("cache", 3, inStatefulSet)
	s.awaitReady("cache", 3)
	before := s.MustPods()
	s.Edit(s.memcached("cache"), `{"spec":{"threads":2}}`)
	s.Await("other pods", func(context.Context) error {
		for name, uid := range s.MustPods() {
			if before[name] == uid {
				return errors.New(name + " is still there")
			}
		}
		return nil
	})
	s.awaitReady("cache", 3)
}

// Only events tell that a pod of a StatefulSet is refused. They outlive that, and must not be taken for the truth then.
func TestRefusedPodsOfAStatefulSetAreReportedUntilTheyCome(t *testing.T) {
	s := newSuite(t)
	s.create("cache", 1, inStatefulSet)
	s.awaitReady("cache", 1)
	refusal, allow := s.ForbidPods()
	s.Edit(s.memcached("cache"), `{"spec":{"size":2}}`)
	want := `Kubernetes refuses to create pods: Create Pod cache-1 in StatefulSet cache failed error: ` +
		`pods "cache-1" is forbidden: ` + refusal
	if message := s.awaitReason(v1alpha1.ReasonNodesRefused); message != want {
		t.Errorf("the message is %q, want %q", message, want)
	}
	allow()
	s.awaitReady("cache", 2)
}

func TestACacheMovesToAStatefulSetAndBack(t *testing.T) {
	s := newSuite(t)
	s.create("cache", 2)
	s.awaitReady("cache", 2)
	for _, step := range []struct {
		edit string
		gone client.Object
	}{
		{`{"spec":{"workload":"StatefulSet"}}`, s.deployment("cache")},
		{`{"spec":{"workload":null}}`, &appsv1.StatefulSet{ObjectMeta: s.deployment("cache").ObjectMeta}},
	} {
		s.Edit(s.memcached("cache"), step.edit)
		s.Await(fmt.Sprintf("%T goes", step.gone), func(ctx context.Context) error {
			err := s.Read(ctx, step.gone)
			if apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("it is there: %w", err)
		})
		s.awaitReady("cache", 2)
	}
}

// What is turned on appears, and what is turned off goes.
func TestOptionalObjectsComeAndGo(t *testing.T) {
	s := newSuite(t)
	s.create("cache", 2)
	s.awaitReady("cache", 2)
	objects := map[string]client.Object{
		"Service":             testenv.Named[corev1.Service](s.Env, "cache"),
		"PodDisruptionBudget": testenv.Named[policyv1.PodDisruptionBudget](s.Env, "cache"),
		"NetworkPolicy":       testenv.Named[networkingv1.NetworkPolicy](s.Env, "cache"),
	}
	await := func(there bool) {
		for kind, object := range objects {
			s.Await(fmt.Sprintf("a %s: %t", kind, there), func(ctx context.Context) error {
				err := s.Read(ctx, object)
				if there || apierrors.IsNotFound(err) {
					return client.IgnoreNotFound(err)
				}
				return fmt.Errorf("it is there: %w", err)
			})
		}
	}
	for _, on := range []bool{true, false} {
		edit := `{"spec":{"service":{},"disruption":{},"networkPolicy":{}}}`
		if !on {
			edit = `{"spec":{"service":null,"disruption":null,"networkPolicy":null}}`
		}
		s.Edit(s.memcached("cache"), edit)
		if on {
			s.Await("them all", func(ctx context.Context) error { return s.Read(ctx, objects["NetworkPolicy"]) })
		}
		await(on)
		s.awaitReady("cache", 2)
	}
}

// kube-controller-manager builds every pod of a StatefulSet in memory before any quota can refuse them.
func TestASizeThatIsTooLargeIsRefused(t *testing.T) {
	for _, workload := range []v1alpha1.WorkloadKind{v1alpha1.WorkloadDeployment, v1alpha1.WorkloadStatefulSet} {
		t.Run(string(workload), func(t *testing.T) {
			s := newSuite(t)
			s.create("cache", 2, func(spec *v1alpha1.MemcachedSpec) { spec.Workload = workload })
			s.awaitReady("cache", 2)
			before := s.MustPods()
			s.Edit(s.memcached("cache"), `{"spec":{"size":1001}}`)
			if message := s.awaitReason(v1alpha1.ReasonTooManyPods); message != "spec.size is 1001, and at most 1000 pods are supported: choose a smaller number. The pods stay as they are" {
				t.Errorf("the message is %q", message)
			}
			if after := s.MustPods(); !maps.Equal(after, before) {
				t.Errorf("pods were %v, and are %v", before, after)
			}
			s.Edit(s.memcached("cache"), `{"spec":{"size":3}}`)
			s.awaitReady("cache", 3)
		})
	}
}
