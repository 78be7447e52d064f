//go:build faults

package faults_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
)

func TestMain(m *testing.M) {
	os.Exit(cluster.MainWithControllers(m))
}

// late is how long a plan waits for its fault after users have all that they want.
const late = 3 * time.Second

// window is how long nothing may be written after everything is as it should be.
const window = time.Second

func TestFaults(t *testing.T) {
	var before goleak.Option
	var plans []*plan
	t.Cleanup(func() { // After the feed has ended, whose watches begin anew from time to time.
		if before == nil {
			return
		}
		if err := leaks(before, int64(len(plans))); err != nil {
			t.Errorf("O9: plans that ended left something: %v", err)
		}
	})
	f := startFeed(t)
	passed, to, err := resume()
	if err != nil {
		t.Fatal(err)
	}
	results := &outcomes{byFault: map[string]*outcome{}, passed: to}
	var baselines map[string]*baseline
	if *recorded != "" {
		if baselines, err = readBaselines(*recorded); err != nil {
			t.Fatal(err)
		}
	} else {
		baselines = recordBaselines(t, f)
	}
	for _, w := range needed() {
		plans = append(plans, plansOf(w, baselines[w.name])...)
	}
	plans = selected(plans, (*plan).id)
	all := len(plans)
	if all == 0 {
		t.Fatalf("no plan has %q in its name: names are like F2/lost/deployment/patch_deployments.cache_#1", *only)
	}
	plans = slices.DeleteFunc(plans, func(p *plan) bool { return passed[p.id()] })
	stop := progress(results, len(plans), all-len(plans))
	before = goleak.IgnoreCurrent()
	t.Cleanup(func() {
		stop()
		_, _ = fmt.Fprint(os.Stderr, results)
		if err := to.Close(); err != nil {
			t.Error(err)
		}
	})
	runPlans(t, f, plans, baselines, results)
}

// runPlans runs all plans at the same time, but for those that restart parts of the cluster: some of these follow, at the same time.
func runPlans(t *testing.T, f *feed, plans []*plan, baselines map[string]*baseline, results *outcomes) {
	t.Helper()
	together := slices.DeleteFunc(slices.Clone(plans), func(p *plan) bool { return p.restarts })
	restarting := slices.DeleteFunc(plans, func(p *plan) bool { return !p.restarts })
	for _, group := range slices.Concat([][]*plan{together}, slices.Collect(slices.Chunk(restarting, restartsAtOnce))) {
		t.Run("group", func(t *testing.T) {
			for _, p := range group {
				t.Run(p.id(), func(t *testing.T) {
					t.Parallel()
					defer noteFailure(t)
					if !hasFailed.Load() {
						p.run(t, f, baselines[p.workload.name], results)
					}
				})
			}
		})
	}
}

// leaks waits until all goroutines have ended that were started since, and hardly any scene of the plans is in memory any more.
func leaks(since goleak.Option, plans int64) (err error) {
	for end := time.Now().Add(stopsWithin); time.Now().Before(end); {
		err = goleak.Find(since,
			// Connections that nobody uses stay open for a while.
			goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*ClientConn).readLoop"),
			// The stand-in for the kubelet watches pods anew from time to time, and after a restart of the API server. A watch that a process
			// of the operator leaves would show in what reads it too.
			goleak.IgnoreTopFunction("context.(*cancelCtx).propagateCancel.func2"),
			goleak.IgnoreTopFunction("k8s.io/client-go/tools/cache.(*Reflector).startResync"),
			goleak.IgnoreTopFunction("golang.org/x/net/http2.(*clientStream).writeRequest"),
			goleak.IgnoreAnyFunction("k8s.io/apimachinery/pkg/watch.(*StreamWatcher).receive"),
			// The API server and etcd that were started again run until all tests have ended.
			goleak.IgnoreAnyFunction("os/exec.(*Cmd).Wait"),
			// A process that ends before its caches are read leaves what waits for them, if it watches some namespaces only, as those of the
			// plans do.
			goleak.IgnoreTopFunction("sigs.k8s.io/controller-runtime/pkg/cache.newMultiNamespaceInformerHandlerRegistration.func1"))
		runtime.GC()
		// What is left of such a process keeps its scene.
		if kept := scenes.Load(); err == nil && kept > max(3, plans/10) {
			err = fmt.Errorf("%d scenes are still in memory", kept)
		}
		if err == nil {
			return nil
		}
	}
	return err
}

// progress says from time to time how many plans were run.
func progress(results *outcomes, all, earlier int) (stop func()) {
	_, _ = fmt.Fprintf(os.Stderr, "%d plans to run, %d have passed earlier\n", all, earlier)
	ticker, start, done := time.NewTicker(15*time.Second), time.Now(), make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				now := results.total()
				left := time.Duration(float64(time.Since(start)) / float64(max(1, now.plans)) * float64(all-now.plans))
				_, _ = fmt.Fprintf(os.Stderr, "%d of %d plans, %d failed, %s left\n", now.plans, all, now.failed, left.Round(time.Second))
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(done)
	}
}

// run lets users do everything while the fault happens, and fails the test if anything is not as without it.
func (p *plan) run(t *testing.T, f *feed, b *baseline, results *outcomes) {
	start := time.Now()
	panics := panicked(t)
	s := newScene(t, f, p.workload)
	if strings.Contains(p.where, "secrets") {
		s.options.SecretRecheck = time.Second // Secrets are not watched. In other plans, a reconcile in between would repair whatever is wrong.
	}
	var found []string
	reached, err := p.happens(s)
	if err != nil {
		found = append(found, "O1: "+err.Error())
	} else {
		found = append(found, p.ends(s, b)...)
	}
	found = append(found, s.violations()...)
	if !p.restarts {
		found = append(found, s.forbidden()...)
	}
	for _, difference := range s.history.Counts().Differences(b.Counts, p.recreates, p.restarts) { // While it restarts, nobody sees what happens.
		found = append(found, "O2: "+difference)
	}
	if p.sparesPods {
		found = append(found, morePodWrites(podWrites(s.injector.Records()), b.PodWrites)...)
	}
	if now := panicked(t); now > panics {
		found = append(found, fmt.Sprintf("O9: %v reconciles panicked in this plan, or in one that ran at the same time", now-panics))
	}
	if count := len(s.injector.Records()); count > 5*b.Most+100 {
		found = append(found, fmt.Sprintf("O9: %d requests, without a fault at most %d", count, b.Most))
	}
	if hasFailed.Load() {
		return
	}
	results.add(p, reached() > 0, found, time.Since(start))
	if len(found) > 0 {
		t.Errorf("%s\nto run it alone: make faults PLAN='%s'\n%v\n%s", strings.Join(found, "\n"), p.id(), s.injector.Records(), s.summary())
	}
}

// happens lets users do everything while the fault happens, or before it. It returns how often the fault has happened so far.
func (p *plan) happens(s *scene) (reached func() int, err error) {
	reached = func() int { return 1 }
	if p.arm != nil {
		reached = p.arm(s)
	}
	if err := s.play(p.workload); err != nil {
		return reached, err
	}
	if p.later != nil {
		idle := s.idle()
		if err := s.await(func(s *scene) error { return errors.Join(idle(s), current(s)) }); err != nil {
			return reached, err
		}
		defer s.happening()()
		return reached, p.later(s)
	}
	for end := time.Now().Add(late); reached() == 0 && time.Now().Before(end); { // Some requests come only after everything is done.
		<-time.After(window / 10)
	}
	return reached, nil
}

// recreates tells whether an object may be created or deleted more or less often than without the fault. How often Kubernetes' controller of
// StatefulSets creates a revision of one that is being deleted is up to chance.
func (p *plan) recreates(key string) bool {
	if p.workload.removes && isRevision(key) {
		return true
	}
	return p.mayRecreate != nil && p.mayRecreate(key)
}

// ends waits until everything is as without the fault, and says what is not, or does not stay so. A request that the operator makes at
// intervals may meet its fault only now, so it waits once more then.
func (p *plan) ends(s *scene, b *baseline) []string {
	for range 5 {
		quiet := s.quiet(window)
		if err := s.await(func(s *scene) error {
			if err := errors.Join(quiet(s), current(s), s.isOver()); err != nil {
				return err
			}
			if differences := p.differences(s, b); len(differences) > 0 {
				return fmt.Errorf("%s", strings.Join(differences, "\n"))
			}
			return nil
		}); err != nil {
			return []string{"O1: " + err.Error()}
		}
		before := s.injector.Injected()
		if found := s.stays(b, p); s.injector.Injected() == before {
			return found
		}
	}
	return []string{"O3: the fault does not end"}
}

// differences says what is not as without the fault.
func (p *plan) differences(s *scene, b *baseline) []string {
	state, mayDiffer := s.history.State(s.namespace), p.mayDiffer
	if p.restarts && countsAnew(state, b.fields) {
		mayDiffer = ofCounting
	}
	return b.fields.Differences(state, mayDiffer)
}

// mostReconciles returns how often the operator may reconcile in a window in which nothing happens: each object once or twice, and more often
// if it reads Secrets every second.
func (s *scene) mostReconciles() float64 {
	if s.options.SecretRecheck <= window {
		return 10
	}
	return 4
}

// stays says what happens although everything is as it should be.
func (s *scene) stays(b *baseline, p *plan) (found []string) {
	before, reconciles := s.injector.Writes(), s.reconciles()
	<-time.After(window)
	if now := s.injector.Writes(); now > before {
		found = append(found, fmt.Sprintf("O3: %d writes after everything was as it should be", now-before))
	}
	if now := s.reconciles(); now > reconciles+s.mostReconciles() {
		found = append(found, fmt.Sprintf("O3: %v reconciles after everything was as it should be", now-reconciles))
	}
	if differences := p.differences(s, b); len(differences) > 0 {
		found = append(found, "O3: it does not stay as it should be: "+strings.Join(differences, "\n"))
	}
	return found
}

// summary returns what a person reads first.
func (s *scene) summary() string {
	var text strings.Builder
	state := s.history.State(s.namespace)
	for _, field := range slices.Sorted(maps.Keys(state)) {
		if strings.Contains(field, ": status.") || strings.HasPrefix(field, "pods/") && (strings.Contains(field, "annotations") || strings.HasSuffix(field, ".image")) {
			fmt.Fprintf(&text, "%s = %s\n", field, state[field])
		}
	}
	return text.String()
}
