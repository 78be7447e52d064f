package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/yaml"

	appv1alpha1 "github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

// Build returns the manager under test, which watches a namespace and registers its metrics.
type Build func(config *rest.Config, namespace string, registry *prometheus.Registry) (manager.Manager, error)

// Story is what a user's story is told with: a namespace, a played Kubernetes, a running operator.
type Story struct {
	*testing.T

	// Namespace is where everything happens.
	Namespace string

	// Kubernetes is played in the namespace.
	Kubernetes *Kubernetes

	// Operator looks after the namespace.
	Operator *Operator

	build   Build
	metrics *prometheus.Registry
}

// NewStory makes a namespace and starts to play Kubernetes and to run the operator in it, until the end of the test.
func NewStory(t *testing.T, build Build) *Story {
	t.Helper()
	s := &Story{T: t, Namespace: Namespace(t), build: build}
	s.Kubernetes = PlayKubernetes(t, s.Namespace)
	s.StartOperator()
	t.Cleanup(func() {
		if t.Failed() {
			s.dump()
		}
	})
	return s
}

// StartOperator starts the operator, with empty caches and without a memory.
func (s *Story) StartOperator() {
	s.Helper()
	s.metrics = prometheus.NewRegistry()
	s.Operator = StartOperator(s.T, func(config *rest.Config) (manager.Manager, error) { return s.build(config, s.Namespace, s.metrics) })
}

// Get reads an object of the namespace.
func (s *Story) Get(ctx context.Context, name string, into client.Object) error {
	return Client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: name}, into)
}

// Edit changes an object by hand, with a JSON merge patch.
func (s *Story) Edit(object client.Object, patch string) {
	s.Helper()
	err := Client.Patch(s.Context(), object, client.RawPatch("application/merge-patch+json", []byte(patch)))
	if err != nil {
		s.Fatalf("edit %T %s: %v", object, object.GetName(), err)
	}
}

// AwaitEvent waits for an event whose message mentions all that is given.
func (s *Story) AwaitEvent(reason string, mentions ...string) {
	s.Helper()
	s.Await("an event "+reason, func(ctx context.Context) error {
		events := &corev1.EventList{}
		if err := Client.List(ctx, events, client.InNamespace(s.Namespace)); err != nil {
			return err
		}
		var seen []string
		for _, event := range events.Items {
			missing := slices.ContainsFunc(mentions, func(part string) bool { return !strings.Contains(event.Message, part) })
			if event.Reason == reason && !missing {
				return nil
			}
			seen = append(seen, event.Reason+": "+event.Message)
		}
		return fmt.Errorf("events are %q", seen)
	})
}

// PodNames returns the names of all pods of the namespace, in alphabetical order.
func (s *Story) PodNames(ctx context.Context) ([]string, error) {
	pods := &corev1.PodList{}
	if err := Client.List(ctx, pods, client.InNamespace(s.Namespace)); err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, pod := range pods.Items {
		names[pod.Name] = true
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// Reconciles returns how many passes the operator has made since it was started.
func (s *Story) Reconciles() float64 {
	s.Helper()
	families, err := s.metrics.Gather()
	if err != nil {
		s.Fatal(err)
	}
	var total float64
	for _, family := range families {
		if family.GetName() == "memcached_operator_reconcile_outcomes_total" {
			for _, metric := range family.GetMetric() {
				total += metric.GetCounter().GetValue()
			}
		}
	}
	return total
}

// AssertQuiet makes things happen that concern nobody, by touching the given objects, waits until the operator has looked
// at them, and fails if it wrote or read live anything.
func (s *Story) AssertQuiet(objects ...client.Object) {
	s.Helper()
	traffic := s.Operator.Traffic
	writes, reads := len(traffic.Writes()), len(traffic.LiveReads())
	before := s.Reconciles()
	for round := range 2 {
		for _, object := range objects {
			s.Edit(object, fmt.Sprintf(`{"metadata":{"annotations":{"example.com/touched":"%d"}}}`, round))
		}
		s.Await("another reconcile", func(context.Context) error {
			if s.Reconciles() <= before+float64(round) {
				return errors.New("none yet")
			}
			return nil
		})
	}
	if now := traffic.Writes(); len(now) != writes {
		s.Errorf("writes although nothing had to change: %v", now[writes:])
	}
	if now := traffic.LiveReads(); len(now) != reads {
		s.Errorf("live reads although nothing had to change: %v", now[reads:])
	}
}

// Await polls like the function Await. When that or anything else fails, the story ends by showing what is in the
// namespace.
func (s *Story) Await(what string, check func(context.Context) error) {
	s.Helper()
	Await(s.T, what, check)
}

func (s *Story) dump() {
	for _, list := range []client.ObjectList{
		&appv1alpha1.ApplicationList{}, &v1alpha1.MemcachedList{}, &appsv1.DeploymentList{}, &corev1.ServiceList{}, &networkingv1.IngressList{},
		&policyv1.PodDisruptionBudgetList{}, &corev1.PodList{}, &corev1.EventList{},
	} {
		if err := Client.List(context.Background(), list, client.InNamespace(s.Namespace)); err != nil {
			s.Logf("list: %v", err)
			continue
		}
		text, err := yaml.Marshal(list)
		s.Logf("%s %v", text, err)
	}
	s.Logf("writes: %v", s.Operator.Traffic.Writes())
}
