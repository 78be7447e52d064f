package controller_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/example/memcached-operator/operator/api/app/v1alpha1"
	cachev1alpha1 "github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit/testenv"
)

// The whole way: the application first, then its cache, then the cache is gone again. Its pods stay the same.
func TestACacheMayComeAfterTheApplicationAndGo(t *testing.T) {
	s := newSuite(t)
	object := s.create(web().Replicas(2).Caches("sessions"))
	found, message := s.awaitReason(object, v1alpha1.ReasonCacheNotFound)
	if want := "Memcached sessions does not exist in namespace " + s.Namespace +
		": create it, or remove it from spec.caches; the pods run without it"; message != want {
		t.Errorf("the message is %q, want %q", message, want)
	}
	s.AwaitEvent(v1alpha1.ReasonCacheNotFound, "Memcached sessions does not exist")
	s.Await("its pods run without", func(ctx context.Context) error {
		now, err := testenv.Get[v1alpha1.Application](ctx, s.Env, "web")
		if err == nil && (now.Status.ReadyReplicas != 2 || !meta.IsStatusConditionTrue(now.Status.Conditions, v1alpha1.ConditionAvailable)) {
			return fmt.Errorf("status is %+v", now.Status)
		}
		return err
	})
	if found.Status.ObservedGeneration != found.Generation {
		t.Errorf("observedGeneration is %d", found.Status.ObservedGeneration)
	}
	before := s.podsOf("web")
	s.createCache("sessions")
	// How long its pod takes to start is not what is measured: with it, the cache gets its first status.
	testenv.AwaitReady(s.Env, "sessions", func(context.Context, *cachev1alpha1.Memcached) error { return nil })
	s.Urgently(func() { s.awaitReady("web", 2) })
	testenv.MustGet[corev1.Secret](s.Env, "sessions-binding")
	s.Delete(s.memcached("sessions"))
	s.awaitReason(object, v1alpha1.ReasonCacheNotFound)
	if after := s.podsOf("web"); !slices.Equal(before, after) {
		t.Errorf("pods %v became %v", before, after)
	}
}

func (s *suite) podsOf(name string) []string {
	s.Helper()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.MustPods())), func(pod string) bool { return !strings.HasPrefix(pod, name+"-") })
}

// A cache that cannot publish its address, here because its Service's name is taken, is told apart from one that does
// not exist.
func TestACacheThatIsNotBoundIsWaitedFor(t *testing.T) {
	s := newSuite(t)
	service := testenv.Named[corev1.Service](s.Env, "sessions-nodes")
	service.Spec.Ports = []corev1.ServicePort{{Port: 80}}
	s.Create(service)
	s.createCache("sessions")
	s.Await("the cache cannot be bound", func(ctx context.Context) error {
		cache := s.memcached("sessions")
		if err := s.Read(ctx, cache); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(cache.Status.Conditions, v1alpha1.ConditionDegraded) {
			return errors.New("not degraded")
		}
		return nil
	})
	object := s.create(web().Caches("sessions"))
	_, message := s.awaitReason(object, v1alpha1.ReasonCacheNotBound)
	if want := "Memcached sessions has no status.binding yet: see kubectl describe memcached sessions"; message != want {
		t.Errorf("the message is %q, want %q", message, want)
	}
	s.Delete(service)
	s.Edit(s.memcached("sessions"), `{"spec":{"size":2}}`) // Otherwise it is looked at within a minute.
	s.awaitReady("web", 1)
}

// What the pods get to know is fixed by the names of the caches.
func TestPodsKnowTheirCaches(t *testing.T) {
	s := newSuite(t)
	s.create(web().Caches("sessions", "pages"))
	s.createCache("sessions")
	s.createCache("pages")
	s.awaitReady("web", 1)
	spec := testenv.MustGet[appsv1.Deployment](s.Env, "web").Spec.Template.Spec
	want := fmt.Sprintf("sessions-nodes.%[1]s.svc:11211,pages-nodes.%[1]s.svc:11211", s.Namespace)
	if variable := spec.Containers[0].Env[0]; variable.Name != "MEMCACHED_SERVERS" || variable.Value != want {
		t.Errorf("the variable is %+v, want %s", variable, want)
	}
	for i, cache := range []string{"sessions", "pages"} {
		binding := testenv.MustGet[corev1.Secret](s.Env, cache+"-binding")
		volume, mount := spec.Volumes[i], spec.Containers[0].VolumeMounts[i]
		if volume.Name != mount.Name || volume.Secret.SecretName != binding.Name || mount.MountPath != "/bindings/"+cache {
			t.Errorf("%s is mounted as %+v from %+v", cache, mount, volume)
		}
		if address := fmt.Sprintf("%s:%s", binding.Data["host"], binding.Data["port"]); !strings.Contains(want, address) {
			t.Errorf("the binding of %s says %s", cache, address)
		}
	}
	s.Edit(s.application("web"), `{"spec":{"caches":null}}`)
	s.awaitReady("web", 1)
	spec = testenv.MustGet[appsv1.Deployment](s.Env, "web").Spec.Template.Spec
	if len(spec.Volumes)+len(spec.Containers[0].Env)+len(spec.Containers[0].VolumeMounts) > 0 {
		t.Errorf("without caches the pod is %+v", spec)
	}
}
