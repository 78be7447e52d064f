package application_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/api/app/v1alpha1"
	cachev1alpha1 "github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/apply"
	"github.com/example/memcached-operator/operator/controller/application"
	"github.com/example/memcached-operator/operator/controller/memcached"
	"github.com/example/memcached-operator/operator/controller/report"
	"github.com/example/memcached-operator/operator/metrics"
	"github.com/example/memcached-operator/operator/nodes/executor"
	"github.com/example/memcached-operator/operator/observe"
	"github.com/example/memcached-operator/operator/operatorcondition"
	"github.com/example/memcached-operator/operator/scope"
	operatortesting "github.com/example/memcached-operator/operator/testing"
	"github.com/example/memcached-operator/operator/testing/cluster"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// story is what every test starts from: a namespace, a played Kubernetes, a running operator with both controllers.
type story struct {
	*cluster.Story

	work *operatorcondition.Tracker
}

// newStory starts the operator for a new namespace, and for those given.
func newStory(t *testing.T, others ...string) *story {
	t.Helper()
	t.Parallel()
	caches := observe.Caches()
	caches.DefaultNamespaces = map[string]cache.Config{}
	for _, other := range others {
		caches.DefaultNamespaces[other] = cache.Config{}
	}
	s := &story{work: operatorcondition.NewTracker()}
	s.Story = cluster.NewStory(t, caches, func(mgr manager.Manager, registry *prometheus.Registry) error {
		own, err := metrics.Register(registry, mgr.GetCache())
		if err != nil {
			return err
		}
		recorder := mgr.GetEventRecorderFor("memcached-operator") //nolint:staticcheck // As the manager does.
		applier := apply.New(mgr.GetClient(), mgr.GetAPIReader(), mgr.GetClient(), mgr.GetScheme())
		reporter := &report.Reporter{Client: mgr.GetClient(), Recorder: recorder}
		err = (&memcached.Reconciler{
			Client: mgr.GetClient(), Applier: applier, Reporter: reporter, Metrics: own, Work: s.work, Clock: clock.RealClock{},
			States:   func(context.Context, []corev1.Pod) map[string]*agentapi.State { return nil },
			Executor: &executor.Executor{Client: mgr.GetClient(), Live: mgr.GetAPIReader()},
			Observe: &observe.Memcached{
				Cached: mgr.GetClient(), Live: mgr.GetAPIReader(),
				Images:   scope.Images{Memcached: map[string]string{"1.6.18": "docker.io/library/memcached:1.6"}, Default: "1.6.18"},
				Features: func() (scope.Features, error) { return scope.Features{}, nil },
			},
		}).SetUp(mgr)
		if err != nil {
			return err
		}
		return (&application.Reconciler{
			Client: mgr.GetClient(), Applier: applier, Reporter: reporter, Metrics: own, Work: s.work, Clock: clock.RealClock{},
		}).SetUp(mgr)
	})
	return s
}

// create makes an Application in the story's namespace, unless it says another.
func (s *story) create(wanted *operatortesting.Application) *v1alpha1.Application {
	s.Helper()
	object := wanted.Obj()
	if object.Namespace == "default" {
		object.Namespace = s.Namespace
	}
	if err := cluster.Client.Create(s.Context(), object); err != nil {
		s.Fatalf("create Application %s: %v", object.Name, err)
	}
	return object
}

// createCache makes a Memcached of one node.
func (s *story) createCache(name string) {
	s.Helper()
	object := operatortesting.MakeMemcached(name).Namespace(s.Namespace).Size(1).Obj()
	if err := cluster.Client.Create(s.Context(), object); err != nil {
		s.Fatalf("create Memcached %s: %v", name, err)
	}
}

func named[T any, P interface {
	*T
	client.Object
}](s *story, name string) P {
	object := P(new(T))
	object.SetNamespace(s.Namespace)
	object.SetName(name)
	return object
}

// get reads an object of the story's namespace.
func get[T any, P interface {
	*T
	client.Object
}](ctx context.Context, s *story, name string) (P, error) {
	object := P(new(T))
	return object, s.Get(ctx, name, object)
}

// mustGet reads an object that has to be there.
func mustGet[T any, P interface {
	*T
	client.Object
}](s *story, name string) P {
	s.Helper()
	object, err := get[T, P](s.Context(), s, name)
	if err != nil {
		s.Fatal(err)
	}
	return object
}

func (s *story) application(name string) *v1alpha1.Application {
	return named[v1alpha1.Application](s, name)
}

// awaitReady waits until an Application is Ready with the given number of pods.
func (s *story) awaitReady(name string, replicas int32) *v1alpha1.Application {
	s.Helper()
	var found *v1alpha1.Application
	s.Await(fmt.Sprintf("%s is Ready with %d pods", name, replicas), func(ctx context.Context) error {
		var err error
		if found, err = get[v1alpha1.Application](ctx, s, name); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(found.Status.Conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != found.Generation ||
			found.Status.ObservedGeneration != found.Generation ||
			found.Status.ReadyReplicas != replicas || found.Status.Replicas != replicas {
			return fmt.Errorf("status is %+v", found.Status)
		}
		return nil
	})
	return found
}

// awaitReason waits until an Application is not Ready for a reason.
func (s *story) awaitReason(object *v1alpha1.Application, reason string) (found *v1alpha1.Application, message string) {
	s.Helper()
	found = &v1alpha1.Application{}
	s.Await(fmt.Sprintf("Ready of %s is False because of %s", object.Name, reason), func(ctx context.Context) error {
		if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(object), found); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(found.Status.Conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.Status != metav1.ConditionFalse || ready.Reason != reason {
			return fmt.Errorf("status is %+v", found.Status)
		}
		message = ready.Message
		return nil
	})
	return found, message
}

// children returns an empty object of each kind that an Application owns, with its name.
func (s *story) children(name string) map[string]client.Object {
	return map[string]client.Object{
		"Deployment":          named[appsv1.Deployment](s, name),
		"Service":             named[corev1.Service](s, name),
		"Ingress":             named[networkingv1.Ingress](s, name),
		"PodDisruptionBudget": named[policyv1.PodDisruptionBudget](s, name),
	}
}

// everything returns an Application with its children.
func (s *story) everything(name string) []client.Object {
	return append(slices.Collect(maps.Values(s.children(name))), s.application(name))
}

// sample is what the tutorial creates.
func sample() *operatortesting.Application {
	return operatortesting.MakeApplication("application-sample").Replicas(2).Ingress("example.foo.com", "", "nginx")
}

// web is short, for stories about something else.
func web() *operatortesting.Application { return operatortesting.MakeApplication("web") }

func memcachedNamed(s *story, name string) *cachev1alpha1.Memcached {
	return named[cachev1alpha1.Memcached](s, name)
}
