package rollout_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/hack/seed"
	"github.com/example/memcached-operator/operator/memcached/update/rollout"
)

// randomRuns is how many random runs each property is tested with.
const randomRuns = 60

// randomRun is a cluster in which things happen at random: parts of the cluster are slow, and the operator observes old states,
// stops before it makes a step, or decides twice.
type randomRun struct {
	*cluster
	random      *rand.Rand
	past        []rollout.Input
	trace       []string
	check       func(step rollout.Step, pod *corev1.Pod)
	agentBroken bool // Agents fail as well. Then unready pods may be changed while others are unready.
}

func newRandomRun(t *testing.T, seed uint64, s templateOptions) *randomRun {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 0))
	return &randomRun{cluster: newCluster(t, 1+random.Int32N(4), s), random: random, check: func(rollout.Step, *corev1.Pod) {}}
}

// eachRun runs a test with many seeds, others in each run of the tests.
func eachRun(t *testing.T, test func(t *testing.T, seed uint64)) {
	t.Helper()
	first := seed.New(t)
	for n := range uint64(randomRuns) {
		t.Run(fmt.Sprintf("SEED=%d", first+n), func(t *testing.T) { test(t, first+n) })
	}
}

func (s *randomRun) chance(percent int) bool { return s.random.IntN(100) < percent }

// observe returns an input whose parts may be outdated, as from caches that are updated one by one.
func (s *randomRun) observe() rollout.Input {
	now := s.input()
	s.past = append(s.past, now)
	if len(s.past) > 4 {
		s.past = s.past[1:]
	}
	if s.chance(70) {
		return now
	}
	now.StatefulSet = s.past[s.random.IntN(len(s.past))].StatefulSet
	now.Pods = s.past[s.random.IntN(len(s.past))].Pods
	return now
}

// operate lets the operator make one step.
func (s *randomRun) operate() {
	s.t.Helper()
	input := s.observe()
	step, err := rollout.Next(input)
	if err != nil {
		s.t.Fatal(err)
	}
	again, _ := rollout.Next(input)
	if difference := cmp.Diff(step, again); difference != "" {
		s.t.Fatalf("the same input leads to another step:\n%s", difference)
	}
	if step.Kind == rollout.None || step.Kind == rollout.Wait || !s.current(input) || s.chance(10) {
		return
	}
	if step.Kind == rollout.Replace && !step.Unready && s.chance(20) {
		return // A PodDisruptionBudget does not allow it.
	}
	before := s.pods[step.Pod.Name].DeepCopy()
	s.make(step)
	s.trace = append(s.trace, fmt.Sprintf("%s %s %s: %s %s", s.now.Format("15:04:05"), step.Kind, step.Pod.Name, step.Message, step.Patch))
	s.check(step, before)
	s.oneAtATime()
}

// current reports whether the operator observed the present state, which package executor makes sure of.
func (s *randomRun) current(observed rollout.Input) bool {
	if observed.StatefulSet.Generation != s.set.Generation || len(observed.Pods) != len(s.pods) {
		return false
	}
	return !slices.ContainsFunc(observed.Pods, func(pod corev1.Pod) bool {
		now := s.pods[pod.Name]
		return now == nil || now.UID != pod.UID || now.ResourceVersion != pod.ResourceVersion
	})
}

func (s *randomRun) oneAtATime() {
	s.t.Helper()
	var down []string
	for name, m := range s.simulated {
		if m.unreadyByOperator && !s.agentBroken || m.downByOperator {
			down = append(down, name)
		}
	}
	if len(down) > 1 {
		s.t.Fatalf("%v are unready at the same time because of the operator:\n%s", down, strings.Join(s.trace, "\n"))
	}
}

// change sets another template, on which the StatefulSet controller may act later.
func (s *randomRun) change(to templateOptions) {
	s.want(to)
	if s.chance(50) {
		s.set.Status.ObservedGeneration--
	}
}

func (s *randomRun) passTime() {
	if s.chance(50) {
		s.seeTemplate()
	}
	s.tick(func() bool { return s.chance(60) })
}

// finish sets a last template and lets the operator update all pods to it.
func (s *randomRun) finish(to templateOptions) {
	s.t.Helper()
	s.want(to)
	for range 1500 {
		s.operate()
		s.passTime()
		s.followMessage()
		if s.next().Kind == rollout.None && s.allReady() {
			break
		}
	}
	s.settle(10)
	s.expectDone()
}

func (s *randomRun) allReady() bool {
	ready := 0
	for _, pod := range s.pods {
		if isReady(pod) {
			ready++
		}
	}
	return ready == int(*s.set.Spec.Replicas)
}

// followMessage does what a message tells the user to do.
func (s *randomRun) followMessage() {
	if step, err := rollout.Next(s.input()); err == nil && step.Stuck && step.Pod != nil && s.pods[step.Pod.Name] != nil &&
		s.simulated[step.Pod.Name].images["memcached"] != "" && isReady(s.pods[step.Pod.Name]) && s.pods[step.Pod.Name].Annotations[rollout.UpdateAnnotation] != "" {
		delete(s.pods[step.Pod.Name].Annotations, rollout.UpdateAnnotation)
		s.changed(s.pods[step.Pod.Name])
	}
}

// keepingChange returns options with a change that keeps the items.
func (s *randomRun) keepingChange(of templateOptions) templateOptions {
	return of.with(func(to *templateOptions) {
		switch s.random.IntN(3) {
		case 0:
			to.labels = map[string]string{"label": fmt.Sprint(s.random.IntN(3))}
		case 1:
			to.agent = fmt.Sprint("agent:", s.random.IntN(3))
		case 2:
			to.memory, to.spare = int64(64<<s.random.IntN(3)), int64(64<<s.random.IntN(3))
		}
		if to.warm {
			to.memory, to.version = 64, []string{"1.6.38", "1.6.45", "bad"}[s.random.IntN(3)]
		}
	})
}

// Whatever is changed and reverted during an update, no pod is replaced, no item is lost, at most one pod is down at a time, and in
// the end all pods are up to date.
func TestLiveAndWarmChangesLoseNothing(t *testing.T) {
	eachRun(t, func(t *testing.T, seed uint64) {
		begin := withoutWarmRestart()
		if seed%2 == 0 {
			begin = withWarmRestart()
		}
		begin.version = "1.6.38"
		s := newRandomRun(t, seed, begin)
		before, items := s.uids(), map[string]int64{}
		s.check = func(step rollout.Step, _ *corev1.Pod) {
			if step.Kind == rollout.Replace {
				t.Fatal(step.Message)
			}
		}
		history := []templateOptions{begin}
		for range 120 {
			if s.chance(10) {
				next := s.keepingChange(history[len(history)-1])
				if s.chance(30) {
					next = history[s.random.IntN(len(history))]
				}
				history = append(history, next)
				s.change(next)
			}
			s.operate()
			s.passTime()
			for name, m := range s.simulated {
				if m.state() == nil {
					continue
				}
				if m.items < items[name] {
					t.Fatalf("%s had %d items and has %d", name, items[name], m.items)
				}
				items[name] = m.items
				if m.allocated+32 > m.limit {
					t.Fatalf("%s has %dMi for items in %dMi", name, m.allocated, m.limit)
				}
			}
		}
		s.finish(s.keepingChange(begin).with(func(to *templateOptions) { to.version = "1.6.38" }))
		if s.uids() != before {
			t.Fatal("pods were replaced")
		}
	})
}

// anyChange returns options with a change of any class.
func (s *randomRun) anyChange() templateOptions {
	begin := withoutWarmRestart()
	begin.warm = s.chance(50)
	to := s.keepingChange(begin)
	to.version = []string{"1.6.18", "1.6.38", "1.6.45", "bad"}[s.random.IntN(4)]
	to.connections = 1024 * (1 + s.random.IntN(2))
	return to
}

// cold reports whether a pod has to lose its items in an update. It finds out in another way than the package does.
func (s *randomRun) cold(pod *corev1.Pod) bool {
	wanted := s.set.Spec.Template.Spec.Containers[0]
	before, after := version(pod.Spec.Containers[0].Image), version(wanted.Image)
	if pod.Spec.Containers[0].Image != wanted.Image && (argument(pod, "-e") == "" || after < before && after < "1.6.38") {
		return true
	}
	rest := &corev1.Pod{Spec: s.set.Spec.Template.Spec}
	return argument(pod, "-c") != argument(rest, "-c") || argument(pod, "-e") != argument(rest, "-e") ||
		argument(pod, "-e") != "" && argument(pod, "-m") != argument(rest, "-m")
}

// Whatever is wanted and whatever fails, a pod that serves clients is replaced for a cold change only and restarted for a warm one
// only, at most one pod is down at a time because of the operator, and in the end all pods are up to date.
func TestAnyChangeAndAnyFailure(t *testing.T) {
	eachRun(t, func(t *testing.T, seed uint64) {
		s := newRandomRun(t, seed, withoutWarmRestart())
		s.agentBroken = seed%2 == 1
		s.check = func(step rollout.Step, pod *corev1.Pod) {
			if !serves(pod) {
				return
			}
			restarts := pod.Spec.Containers[0].Image != s.pods[pod.Name].Spec.Containers[0].Image
			if cold := s.cold(pod); step.Kind == rollout.Replace && !cold || restarts && cold {
				t.Fatalf("cold is %t for %s, but: %s", cold, pod.Name, step.Message)
			}
		}
		for range 200 {
			if s.chance(8) {
				s.change(s.anyChange())
			}
			s.operate()
			s.passTime()
			s.failAtRandom()
			s.followMessage()
		}
		for _, m := range s.simulated {
			m.memcachedBroken, m.agentBroken = false, false
		}
		last := s.anyChange()
		last.version = "1.6.45"
		s.finish(last)
	})
}
