package controller_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/internal/testkit/testenv"
	"github.com/example/memcached-operator/operator/kube/pods"
	"github.com/example/memcached-operator/operator/manager"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
)

// Users of an image of their own say its version, and then want another image. That keeps the items, also of a pod that has not been told the
// version yet.
func TestAVersionThatWasSaidForTheImageOfAPodKeepsItsItems(t *testing.T) {
	const given, wanted = "example.com/memcached:given", "example.com/memcached:wanted"
	versions := map[string]string{given: "1.6.38", wanted: "1.6.39"}
	s := newSuite(t, func(options *manager.Options) {
		options.AgentStates = cluster.Agents(func(image string) string { return versions[image] })
	})
	before := s.createReady(inStatefulSet, func(spec *v1alpha1.MemcachedSpec) { spec.WarmRestart, spec.Image = true, given })
	untold := map[string]*corev1.Pod{}
	for name := range before {
		untold[name] = testenv.MustGet[corev1.Pod](s.Env, name)
	}
	s.Edit(s.memcached("cache"), fmt.Sprintf(`{"spec":{"version":%q}}`, versions[given]))
	s.Await("all pods are told the version", func(ctx context.Context) error {
		for name := range before {
			if found, err := testenv.Get[corev1.Pod](ctx, s.Env, name); err != nil || found.Annotations[pod.VersionAnnotation] == "" {
				return fmt.Errorf("%s is not: %w", name, err)
			}
		}
		return nil
	})
	s.Operator.Stop()
	for name, was := range untold {
		s.Edit(testenv.Named[corev1.Pod](s.Env, name), fmt.Sprintf(`{"metadata":{"labels":{%q:%q},"annotations":{%q:null}}}`,
			appsv1.ControllerRevisionHashLabelKey, was.Labels[appsv1.ControllerRevisionHashLabelKey], pod.VersionAnnotation))
	}
	s.Edit(s.memcached("cache"), fmt.Sprintf(`{"spec":{"image":%q,"version":%q}}`, wanted, versions[wanted]))
	s.StartOperator()
	s.Await("all pods run "+wanted, func(ctx context.Context) error {
		for name := range s.MustPods() {
			found, err := testenv.Get[corev1.Pod](ctx, s.Env, name)
			if err != nil {
				return err
			}
			if memcached := pods.Container(found.Spec.Containers, pod.MemcachedContainer); memcached.Image != wanted {
				return errors.New(name + " runs " + memcached.Image)
			}
		}
		return nil
	})
	s.awaitReady("cache", 2)
	s.keeps(before)
}
