package memcached_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/apply"
	"github.com/example/memcached-operator/operator/controller/memcached"
	"github.com/example/memcached-operator/operator/metrics"
	"github.com/example/memcached-operator/operator/observe"
	operatortesting "github.com/example/memcached-operator/operator/testing"
	"github.com/example/memcached-operator/operator/testing/cluster"
)

const image = "docker.io/library/memcached@sha256:f2ec63287d2a20993885a55d630756819317e76ddd404f90000953e80c188237"

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// story is what every test starts from: a namespace, a played Kubernetes, a running operator.
type story struct {
	*testing.T
	namespace  string
	kubernetes *cluster.Kubernetes
	operator   *cluster.Operator
	metrics    *prometheus.Registry
}

func newStory(t *testing.T) *story {
	t.Helper()
	t.Parallel()
	s := &story{T: t, namespace: cluster.Namespace(t)}
	s.kubernetes = cluster.PlayKubernetes(t, s.namespace)
	s.startOperator()
	return s
}

// startOperator starts the operator, with empty caches and without a memory.
func (s *story) startOperator() {
	s.Helper()
	s.metrics = prometheus.NewRegistry()
	s.operator = cluster.StartOperator(s.T, s.namespace, observe.Caches(), func(mgr manager.Manager) error {
		own, err := metrics.Register(s.metrics, mgr.GetCache())
		if err != nil {
			return err
		}
		return (&memcached.Reconciler{
			Client:   mgr.GetClient(),
			Applier:  apply.New(mgr.GetClient(), mgr.GetAPIReader(), mgr.GetClient(), mgr.GetScheme()),
			Recorder: mgr.GetEventRecorderFor("memcached-operator"), //nolint:staticcheck // As the manager does.
			Metrics:  own, Clock: clock.RealClock{}, Image: image,
		}).SetUp(mgr)
	})
}

// create makes a cache.
func (s *story) create(name string, size int32) *v1alpha1.Memcached {
	s.Helper()
	object := operatortesting.MakeMemcached(name).Namespace(s.namespace).Size(size).Obj()
	if err := cluster.Client.Create(s.Context(), object); err != nil {
		s.Fatalf("create Memcached %s: %v", name, err)
	}
	return object
}

// get reads an object of the story's namespace.
func get[T any, P interface {
	*T
	client.Object
}](ctx context.Context, s *story, name string) (P, error) {
	object := P(new(T))
	return object, cluster.Client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, object)
}

// edit changes an object by hand.
func (s *story) edit(object client.Object, patch string) {
	s.Helper()
	err := cluster.Client.Patch(s.Context(), object, client.RawPatch("application/merge-patch+json", []byte(patch)))
	if err != nil {
		s.Fatalf("edit %T %s: %v", object, object.GetName(), err)
	}
}

func (s *story) deployment(name string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
}

func (s *story) memcached(name string) *v1alpha1.Memcached {
	return &v1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
}

// awaitReady waits until the cache is Ready with the given number of nodes, all of which exist.
func (s *story) awaitReady(name string, size int) *v1alpha1.Memcached {
	s.Helper()
	var found *v1alpha1.Memcached
	s.await(fmt.Sprintf("%s is Ready with %d nodes", name, size), func(ctx context.Context) error {
		var err error
		if found, err = get[v1alpha1.Memcached](ctx, s, name); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(found.Status.Conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != found.Generation ||
			found.Status.ObservedGeneration != found.Generation || int(found.Status.ReadyReplicas) != size {
			return fmt.Errorf("status is %+v", found.Status)
		}
		pods, err := s.podNames(ctx)
		if err != nil {
			return err
		}
		own := slices.DeleteFunc(pods, func(pod string) bool { return !strings.HasPrefix(pod, name+"-") })
		if !slices.Equal(own, found.Status.Nodes) {
			return fmt.Errorf("nodes are %v, pods are %v", found.Status.Nodes, own)
		}
		return nil
	})
	return found
}

// awaitReason waits until the cache of the name "cache" is not Ready for a reason, and returns the message.
func (s *story) awaitReason(reason string) string {
	s.Helper()
	var message string
	s.await("Ready is False because of "+reason, func(ctx context.Context) error {
		found, err := get[v1alpha1.Memcached](ctx, s, "cache")
		if err != nil {
			return err
		}
		ready := meta.FindStatusCondition(found.Status.Conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.Status != metav1.ConditionFalse || ready.Reason != reason {
			return fmt.Errorf("status is %+v", found.Status)
		}
		message = ready.Message
		return nil
	})
	return message
}

func (s *story) awaitEvent(reason string, mentions ...string) {
	s.Helper()
	s.await("an event "+reason, func(ctx context.Context) error {
		events := &corev1.EventList{}
		if err := cluster.Client.List(ctx, events, client.InNamespace(s.namespace)); err != nil {
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

func (s *story) podNames(ctx context.Context) ([]string, error) {
	pods := &corev1.PodList{}
	if err := cluster.Client.List(ctx, pods, client.InNamespace(s.namespace)); err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, pod := range pods.Items {
		names[pod.Name] = true
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// reconciles returns how many passes the operator has made.
func (s *story) reconciles() float64 {
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

// await polls like cluster.Await and, when that fails, shows what is in the namespace.
func (s *story) await(what string, check func(context.Context) error) {
	s.Helper()
	s.Cleanup(func() {
		if s.Failed() {
			s.dump()
		}
	})
	cluster.Await(s.T, what, check)
}

func (s *story) dump() {
	for _, list := range []client.ObjectList{
		&v1alpha1.MemcachedList{}, &appsv1.DeploymentList{}, &corev1.PodList{}, &corev1.EventList{},
	} {
		if err := cluster.Client.List(context.Background(), list, client.InNamespace(s.namespace)); err != nil {
			s.Logf("list: %v", err)
			continue
		}
		text, err := yaml.Marshal(list)
		s.Logf("%s %v", text, err)
	}
	s.Logf("writes: %v", s.operator.Traffic.Writes())
}
