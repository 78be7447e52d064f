//go:build faults

package faults_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

	beforeLast []func() // Faults that happen before the last step.

	mutex     sync.Mutex
	processes []*process
	ended     bool
	satisfied bool   // Users have done everything, and got what they wanted.
	underWay  int    // Faults that have not ended yet.
	revision  string // Before the step that is under way.
	tookDown  []string
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

// scenes is how many scenes are in memory.
var scenes atomic.Int64

func newScene(t *testing.T, f *feed, w *workload) *scene {
	t.Helper()
	s := &scene{T: t, injector: inject.New()}
	scenes.Add(1)
	runtime.AddCleanup(s, func(one int64) { scenes.Add(-one) }, 1)
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
		s.deleteNamespace()
		s = nil // The testing package keeps this function until all tests have ended, and the scene with it.
	})
	return s
}

// deleteNamespace has Kubernetes delete what the operator made. The API server, and all that watch it, would otherwise keep the objects of
// thousands of plans in memory. It does not wait for the end of the deletion. StatefulSets go first: their controller would try to create the
// pods that are deleted with the namespace again. As it tries no more than ten times in a second, other plans would wait for it for minutes.
func (s *scene) deleteNamespace() {
	err := undisturbed(func() error {
		return errors.Join(cluster.Client.DeleteAllOf(context.Background(), &appsv1.StatefulSet{}, client.InNamespace(s.namespace)),
			cluster.Client.Delete(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}))
	})
	if err != nil {
		s.Errorf("delete the namespace: %v", err)
	}
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
	config.Wrap(s.onePodAtATime)
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

// hasStarted says whether the newest process works.
func (s *scene) hasStarted() error {
	newest := s.newest()
	if newest == nil {
		return nil // The plan has ended.
	}
	select {
	case <-newest.started:
		return nil
	default:
		return errors.New("the operator does not work yet")
	}
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

// isSatisfied says whether users have done everything, and got what they wanted.
func (s *scene) isSatisfied() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !s.satisfied {
		return errors.New("users are not done yet")
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
