package memcached_test

import (
	"context"
	"fmt"
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

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/apply"
	"github.com/example/memcached-operator/operator/change"
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

const image = "docker.io/library/memcached@sha256:f2ec63287d2a20993885a55d630756819317e76ddd404f90000953e80c188237"

// images are those of the release that caches are made by.
var images = scope.Images{Memcached: map[string]string{"1.6.18": image}, Default: "1.6.18", Agent: "quay.io/example/memcached-operator:v1"}

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// story is what every test starts from: a namespace, a played Kubernetes, a running operator.
type story struct {
	*cluster.Story

	images scope.Images // Of the operator that is started next.
	work   *operatorcondition.Tracker
	rivals *rivals
}

func newStory(t *testing.T) *story {
	t.Helper()
	t.Parallel()
	s := &story{images: images, work: operatorcondition.NewTracker(), rivals: &rivals{}}
	s.Story = cluster.NewStory(t, observe.Caches(), func(mgr manager.Manager, registry *prometheus.Registry) error {
		own, err := metrics.Register(registry, mgr.GetCache())
		if err != nil {
			return err
		}
		recorder := mgr.GetEventRecorderFor("memcached-operator") //nolint:staticcheck // As the manager does.
		writer := rivalled{mgr.GetClient(), s.rivals}
		return (&memcached.Reconciler{
			Client:   mgr.GetClient(),
			Applier:  apply.New(mgr.GetClient(), mgr.GetAPIReader(), writer, mgr.GetScheme()),
			Reporter: &report.Reporter{Client: writer, Recorder: recorder},
			Metrics:  own, Work: s.work, Clock: clock.RealClock{},
			States:   func(context.Context, []corev1.Pod) map[string]*agentapi.State { return nil },
			Executor: &executor.Executor{Client: mgr.GetClient(), Live: mgr.GetAPIReader()},
			Observe: &observe.Memcached{
				Cached: mgr.GetClient(), Live: mgr.GetAPIReader(), Images: s.images,
				Features: func() (scope.Features, error) {
					return scope.Features{Features: change.Features{Resize: true}}, nil
				},
			},
		}).SetUp(mgr)
	})
	return s
}

// create makes a cache.
func (s *story) create(name string, size int32, changes ...func(*v1alpha1.MemcachedSpec)) *v1alpha1.Memcached {
	s.Helper()
	object := operatortesting.MakeMemcached(name).Namespace(s.Namespace).Size(size).Obj()
	for _, change := range changes {
		change(&object.Spec)
	}
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
	return object, s.Get(ctx, name, object)
}

func (s *story) deployment(name string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}}
}

// service and secret are those of the cache of the name "cache".
func (s *story) service() *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "cache-nodes"}}
}

func (s *story) secret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "cache-binding"}}
}

func (s *story) memcached(name string) *v1alpha1.Memcached {
	return &v1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}}
}

// awaitReady waits until the cache is Ready with the given number of nodes, all of which exist.
func (s *story) awaitReady(name string, size int) *v1alpha1.Memcached {
	s.Helper()
	var found *v1alpha1.Memcached
	s.Await(fmt.Sprintf("%s is Ready with %d nodes", name, size), func(ctx context.Context) error {
		var err error
		if found, err = get[v1alpha1.Memcached](ctx, s, name); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(found.Status.Conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != found.Generation ||
			found.Status.ObservedGeneration != found.Generation || int(found.Status.ReadyReplicas) != size {
			return fmt.Errorf("status is %+v", found.Status)
		}
		pods, err := s.PodNames(ctx)
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
	s.Await("Ready is False because of "+reason, func(ctx context.Context) error {
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
