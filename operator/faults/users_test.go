//go:build faults

package faults_test

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
)

// play lets users do everything, and waits for each step until they see what they want.
func (s *scene) play(w *workload) error {
	if w.prepare != nil {
		if err := undisturbed(func() error { return w.prepare(s) }); err != nil {
			return fmt.Errorf("prepare: %w", err)
		}
	}
	if w.prepared != nil {
		if err := s.await(w.prepared); err != nil {
			return fmt.Errorf("prepare: %w", err)
		}
	}
	if err := undisturbed(func() error { s.start(); return nil }); err != nil {
		return err
	}
	for i, step := range w.steps {
		if i == len(w.steps)-1 && len(s.beforeLast) > 0 {
			if err := s.beforeLastStep(i > 0); err != nil {
				return err
			}
		}
		if err := undisturbed(func() error { return s.take(step) }); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		if err := s.await(step.done); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.satisfied = true
	return nil
}

// beforeLastStep lets the faults happen that meet the last step. Before, the operator has read all that it watches, and has done what earlier
// steps ask for.
func (s *scene) beforeLastStep(earlier bool) error {
	quiet := s.quiet(window)
	if err := s.await(func(s *scene) error {
		if err := s.hasStarted(); err != nil || !earlier {
			return err // At first, it may have something to do at once.
		}
		return quiet(s)
	}); err != nil {
		return fmt.Errorf("before the last step: %w", err)
	}
	for _, happens := range s.beforeLast {
		happens()
	}
	return nil
}

// take lets users do a step.
func (s *scene) take(step step) error {
	if err := s.remember(); err != nil {
		return err
	}
	if len(step.sizes) > 0 {
		s.history.Forget()
	}
	for _, size := range step.sizes {
		s.history.Allow(size)
	}
	return step.do(s)
}

// create creates an object from its manifest.
func (s *scene) create(manifest string) error {
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(s.text(manifest)), &object.Object); err != nil {
		return err
	}
	object.SetNamespace(s.namespace)
	if err := cluster.Client.Create(s.Context(), object); err != nil {
		return err
	}
	return s.see(object)
}

// see waits until the history shows what users have written. Each kind has a watch of its own, which is late on a busy machine: without the
// newest spec, everything seems to be done.
func (s *scene) see(written *unstructured.Unstructured) error {
	for resource, kind := range kinds {
		if kind.Kind != written.GetKind() {
			continue
		}
		return s.await(func(s *scene) error {
			seen := s.history.Find(resource, written.GetName())
			if seen == nil || seen.GetUID() != written.GetUID() || seen.GetGeneration() < written.GetGeneration() {
				return fmt.Errorf("the watch of %s does not show generation %d of %s", resource, written.GetGeneration(), written.GetName())
			}
			return nil
		})
	}
	return nil
}

// kinds are the kinds that users edit, by resource.
var kinds = map[string]metav1.TypeMeta{
	"memcacheds":   {APIVersion: "cache.example.com/v1alpha1", Kind: "Memcached"},
	"applications": {APIVersion: "app.example.com/v1alpha1", Kind: "Application"},
}

func (s *scene) named(resource, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(kinds[resource].APIVersion)
	object.SetKind(kinds[resource].Kind)
	object.SetNamespace(s.namespace)
	object.SetName(name)
	return object
}

// edit changes an object as `kubectl patch --type=merge` does.
func (s *scene) edit(resource, name, patch string) error {
	return s.patch(s.named(resource, name), client.RawPatch("application/merge-patch+json", []byte(s.text(patch))))
}

func (s *scene) patch(object *unstructured.Unstructured, patch client.Patch) error {
	if err := cluster.Client.Patch(s.Context(), object, patch); err != nil {
		return err
	}
	return s.see(object)
}

// text replaces the word NAMESPACE.
func (s *scene) text(text string) string { return strings.ReplaceAll(text, "NAMESPACE", s.namespace) }

// remove deletes an object.
func (s *scene) remove(resource, name string) error {
	return client.IgnoreNotFound(cluster.Client.Delete(s.Context(), s.named(resource, name)))
}
