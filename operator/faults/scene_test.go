//go:build faults

package faults_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/operator/faults/inject"
	"github.com/example/memcached-operator/operator/faults/oracle"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/manager"
	"github.com/example/memcached-operator/operator/olmcondition"
)

// scene is a namespace in which the operator runs a workload.
type scene struct {
	*testing.T
	namespace string
	history   *oracle.History
	injector  *inject.Injector
	options   manager.Options

	mutex     sync.Mutex
	processes []*process
	ended     bool
	underWay  int    // Faults that have not ended yet.
	revision  string // Before the step that is under way.
}

// process is a process of the operator.
type process struct {
	*inject.Process
	started <-chan struct{} // Closed as soon as its caches are read.
	ended   chan error      // Gets the error with which it ended.
	stop    func()
	metrics prometheus.Gatherer // Its own.
}

// stopsWithin is how long a process may take to end after it was told to: reconciles that are under way may take eight seconds, and more on
// a busy machine.
const stopsWithin = 20 * time.Second

// kill ends the process without a further request.
func (p *process) kill() {
	p.Kill()
	go func() {
		select {
		case <-p.started:
		case <-time.After(stopsWithin):
		}
		p.stop()
	}()
}

func newScene(t *testing.T, f *feed, w *workload) *scene {
	t.Helper()
	s := &scene{T: t, injector: inject.New()}
	_ = undisturbed(func() error {
		s.namespace = cluster.Namespace(t)
		return nil
	})
	s.options = manager.Options{
		MetricsAddress: "0", HealthAddress: "0", WatchNamespaces: []string{s.namespace}, Images: images, SecretRecheck: time.Hour,
		AgentStates: cluster.Agents(versionOf), Clock: clock.RealClock{},
	}
	if w.options != nil {
		w.options(&s.options)
	}
	history, forget := f.follow(s.namespace)
	s.history = history
	t.Cleanup(func() {
		s.end()
		forget()
	})
	return s
}

// start starts a process of the operator.
func (s *scene) start() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.ended {
		return
	}
	options := s.options
	registry := prometheus.NewRegistry()
	options.Metrics, options.Work = registry, olmcondition.NewTracker(options.Clock)
	started := &process{Process: s.injector.Process(), metrics: registry}
	config := rest.CopyConfig(cluster.OperatorConfig)
	config.Wrap(started.Wrap)
	mgr, err := manager.New(config, options)
	if err != nil {
		s.Errorf("build the manager: %v", err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	started.started, started.ended, started.stop = mgr.Elected(), make(chan error, 1), cancel
	go func() { started.ended <- mgr.Start(ctx) }()
	s.processes = append(s.processes, started)
}

// newest returns the process that was started last, nil after the end: a fault may come late.
func (s *scene) newest() *process {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.ended {
		return nil
	}
	return s.processes[len(s.processes)-1]
}

// crash ends the newest process at once, and starts another one.
func (s *scene) crash() {
	if newest := s.newest(); newest != nil {
		newest.kill()
		s.start()
	}
}

// end stops all processes.
func (s *scene) end() {
	s.mutex.Lock()
	processes := s.processes
	s.ended, s.processes = true, nil
	s.mutex.Unlock()
	for _, process := range processes {
		process.kill()
	}
	for _, process := range processes {
		select {
		case <-process.ended: //nolint:errcheck // What a killed process says does not matter.
		case <-time.After(stopsWithin):
			s.Errorf("O9: a process did not end within %s", stopsWithin)
		}
	}
}

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
	for _, step := range w.steps {
		if err := undisturbed(func() error { return s.take(step) }); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		if err := s.await(step.done); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

// take lets users do a step.
func (s *scene) take(step step) error {
	if err := s.remember(); err != nil {
		return err
	}
	for _, size := range step.sizes {
		s.history.Allow(size)
	}
	return step.do(s)
}

// later does something after some time. Until then, the fault is under way.
func (s *scene) later(after time.Duration, do func()) {
	s.fault(1)
	time.AfterFunc(after, func() {
		do()
		s.fault(-1)
	})
}

// fault says that so many faults more are under way.
func (s *scene) fault(more int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.underWay += more
}

// happening says that a fault is under way. It is so until a while after over was called, when its effects can be seen.
func (s *scene) happening() (over func()) {
	s.fault(1)
	return func() { s.later(window, func() { s.fault(-1) }) }
}

// isOver says whether all faults have ended.
func (s *scene) isOver() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.underWay > 0 {
		return errors.New("the fault is under way")
	}
	return nil
}

// remember notes the revision of the cluster.
func (s *scene) remember() error {
	list := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"}}
	if err := cluster.Client.List(s.Context(), list, client.InNamespace(s.namespace)); err != nil {
		return err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.revision = list.ResourceVersion
	return nil
}

// past returns the revision before the step that is under way.
func (s *scene) past() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.revision
}

// create creates an object from its manifest.
func (s *scene) create(manifest string) error {
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(s.text(manifest)), &object.Object); err != nil {
		return err
	}
	object.SetNamespace(s.namespace)
	return cluster.Client.Create(s.Context(), object)
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
	return cluster.Client.Patch(s.Context(), s.named(resource, name), client.RawPatch("application/merge-patch+json", []byte(s.text(patch))))
}

// text replaces the word NAMESPACE.
func (s *scene) text(text string) string { return strings.ReplaceAll(text, "NAMESPACE", s.namespace) }

// remove deletes an object.
func (s *scene) remove(resource, name string) error {
	return client.IgnoreNotFound(cluster.Client.Delete(s.Context(), s.named(resource, name)))
}
