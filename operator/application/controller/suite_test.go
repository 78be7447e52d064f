package controller_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/api/app/v1alpha1"
	cachev1alpha1 "github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/internal/testkit/testenv"
	"github.com/example/memcached-operator/operator/manager"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

func TestMain(m *testing.M) { os.Exit(cluster.MainWithControllers(m)) }

// suite is what every test starts from: a namespace in which the operator runs, with both controllers.
type suite struct{ *testenv.Env }

// newSuite starts the operator for a new namespace, and for those given.
func newSuite(t *testing.T, others ...string) *suite {
	t.Helper()
	return &suite{testenv.New(t, manager.Options{
		WatchNamespaces: others,
		Images:          inputs.Images{Memcached: map[string]string{"1.6.18": "docker.io/library/memcached:1.6"}, Default: "1.6.18"},
	})}
}

// create makes an Application in the suite's namespace, unless it says another.
func (s *suite) create(wanted *testkit.Application) *v1alpha1.Application {
	s.Helper()
	object := wanted.Obj()
	if object.Namespace == "default" {
		object.Namespace = s.Namespace
	}
	s.Create(object)
	return object
}

// createCache makes a Memcached of one node.
func (s *suite) createCache(name string) {
	s.Helper()
	s.Create(testkit.MakeMemcached(name).Namespace(s.Namespace).Size(1).Obj())
}

func (s *suite) application(name string) *v1alpha1.Application {
	return testenv.Named[v1alpha1.Application](s.Env, name)
}

func (s *suite) memcached(name string) *cachev1alpha1.Memcached {
	return testenv.Named[cachev1alpha1.Memcached](s.Env, name)
}

// awaitReady waits until an Application is Ready with the given number of pods.
func (s *suite) awaitReady(name string, replicas int32) *v1alpha1.Application {
	s.Helper()
	return testenv.AwaitReady(s.Env, name, func(_ context.Context, found *v1alpha1.Application) error {
		if found.Status.ObservedGeneration != found.Generation ||
			found.Status.ReadyReplicas != replicas || found.Status.Replicas != replicas {
			return fmt.Errorf("status is %+v", found.Status)
		}
		return nil
	})
}

// awaitReason waits until an Application is not Ready for a reason, and returns it and the message.
func (s *suite) awaitReason(object *v1alpha1.Application, reason string) (*v1alpha1.Application, string) {
	s.Helper()
	return testenv.AwaitNotReady[v1alpha1.Application](s.Env, object.Name, reason)
}

// children returns an empty object of each kind that an Application owns, with its name.
func (s *suite) children(name string) map[string]client.Object {
	return map[string]client.Object{
		"Deployment":          testenv.Named[appsv1.Deployment](s.Env, name),
		"Service":             testenv.Named[corev1.Service](s.Env, name),
		"Ingress":             testenv.Named[networkingv1.Ingress](s.Env, name),
		"PodDisruptionBudget": testenv.Named[policyv1.PodDisruptionBudget](s.Env, name),
	}
}

// everything returns an Application with its children.
func (s *suite) everything(name string) []client.Object {
	return append(slices.Collect(maps.Values(s.children(name))), s.application(name))
}

// sample is what the tutorial creates.
func sample() *testkit.Application {
	return testkit.MakeApplication("application-sample").Replicas(2).Ingress("example.foo.com", "", "nginx")
}

// web is short, for tests of something else.
func web() *testkit.Application { return testkit.MakeApplication("web") }
