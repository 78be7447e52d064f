package controller_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/internal/testkit/testenv"
	"github.com/example/memcached-operator/operator/manager"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

const image = "docker.io/library/memcached@sha256:f2ec63287d2a20993885a55d630756819317e76ddd404f90000953e80c188237"

// images are those of the release that caches are made by.
var images = inputs.Images{Memcached: map[string]string{"1.6.18": image}, Default: "1.6.18", Agent: "quay.io/example/memcached-operator:v1"}

func TestMain(m *testing.M) { os.Exit(cluster.MainWithControllers(m)) }

// suite is what every test starts from: a namespace in which the operator runs.
type suite struct {
	*testenv.Env

	conflicts *conflicts
}

func newSuite(t *testing.T, changes ...func(*manager.Options)) *suite {
	t.Helper()
	s := &suite{conflicts: &conflicts{}}
	options := manager.Options{Images: images, NewClient: s.conflicts.newClient}
	for _, change := range changes {
		change(&options)
	}
	s.Env = testenv.New(t, options)
	return s
}

// readingSecretsOften lets an operator see a change of the Secret that it made at once instead of within ten minutes.
func readingSecretsOften(options *manager.Options) { options.SecretRecheck = 100 * time.Millisecond }

// create makes a cache.
func (s *suite) create(name string, size int32, changes ...func(*v1alpha1.MemcachedSpec)) *v1alpha1.Memcached {
	s.Helper()
	object := testkit.MakeMemcached(name).Namespace(s.Namespace).Size(size).Obj()
	for _, change := range changes {
		change(&object.Spec)
	}
	s.Create(object)
	return object
}

func (s *suite) deployment(name string) *appsv1.Deployment {
	return testenv.Named[appsv1.Deployment](s.Env, name)
}

func (s *suite) memcached(name string) *v1alpha1.Memcached {
	return testenv.Named[v1alpha1.Memcached](s.Env, name)
}

// service and secret are those of the cache of the name "cache".
func (s *suite) service() *corev1.Service { return testenv.Named[corev1.Service](s.Env, "cache-nodes") }
func (s *suite) secret() *corev1.Secret   { return testenv.Named[corev1.Secret](s.Env, "cache-binding") }

// awaitReady waits until the cache is Ready with the given number of nodes, all of which exist.
func (s *suite) awaitReady(name string, size int) *v1alpha1.Memcached {
	s.Helper()
	return testenv.AwaitReady(s.Env, name, func(ctx context.Context, found *v1alpha1.Memcached) error {
		if found.Status.ObservedGeneration != found.Generation || int(found.Status.ReadyReplicas) != size {
			return fmt.Errorf("status is %+v", found.Status)
		}
		// The operator may see that a pod is ready after it has seen the workload say so.
		for _, endpoint := range found.Status.Endpoints {
			if !endpoint.Ready {
				return fmt.Errorf("endpoints are %+v", found.Status.Endpoints)
			}
		}
		pods, err := s.Pods(ctx, nil)
		own := slices.DeleteFunc(slices.Sorted(maps.Keys(pods)), func(pod string) bool { return !strings.HasPrefix(pod, name+"-") })
		if err != nil || !slices.Equal(own, found.Status.Nodes) {
			return fmt.Errorf("nodes are %v, pods are %v: %w", found.Status.Nodes, own, err)
		}
		return nil
	})
}

// createReady makes a cache of two pods and waits until it is ready. It returns the UIDs of its pods, by name.
func (s *suite) createReady(changes ...func(*v1alpha1.MemcachedSpec)) map[string]types.UID {
	s.Helper()
	s.create("cache", 2, changes...)
	s.awaitReady("cache", 2)
	return s.MustPods()
}

// keeps fails the test if one of the pods was replaced or is gone.
func (s *suite) keeps(before map[string]types.UID) {
	s.Helper()
	now := s.MustPods()
	for name, uid := range before {
		if now[name] != uid {
			s.Errorf("%s was replaced", name)
		}
	}
}

// awaitReason waits until the cache of the name "cache" is not Ready for a reason, and returns the message.
func (s *suite) awaitReason(reason string) string {
	s.Helper()
	_, message := testenv.AwaitNotReady[v1alpha1.Memcached](s.Env, "cache", reason)
	return message
}
