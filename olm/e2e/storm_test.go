//go:build e2e && chaos

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/olm/e2e/storm"
	"github.com/example/memcached-operator/olm/walk"
)

// storming carries out the plan of a storm.
type storming struct {
	t     *testing.T
	begun time.Time
	// losesPower is called before a node loses its power.
	losesPower func(node string)
	groups     map[string]*sync.Mutex
	ended      sync.WaitGroup

	mutex sync.Mutex
	kills map[string]int
	away  map[string]bool
}

// startStorm begins a storm. Whatever is away when the test ends, however it ends, is started again.
func startStorm(t *testing.T, plan []storm.Kill, losesPower func(node string)) *storming {
	t.Helper()
	s := &storming{
		t: t, begun: time.Now(), losesPower: losesPower,
		kills: map[string]int{}, away: map[string]bool{}, groups: map[string]*sync.Mutex{},
	}
	for _, kill := range plan {
		s.groups[kill.Group] = &sync.Mutex{}
	}
	t.Cleanup(s.startAll)
	s.ended.Go(func() {
		for _, kill := range plan {
			if s.until(kill.At) {
				s.ended.Go(func() { s.carryOut(kill) })
			}
		}
	})
	return s
}

// until waits until this time since the beginning. It returns false if the test ends before.
func (s *storming) until(at time.Duration) bool {
	select {
	case <-time.After(at - time.Since(s.begun)):
		return true
	case <-s.t.Context().Done():
		return false
	}
}

// carryOut waits for the other parts of the group, which may take longer to start than planned.
func (s *storming) carryOut(kill storm.Kill) {
	s.groups[kill.Group].Lock()
	defer s.groups[kill.Group].Unlock()
	var err error
	switch kill.What {
	case storm.OperatorPod:
		err = s.persist(killOperatorPods)
	case storm.OperatorProcess:
		err = s.persist(killOperatorProcesses)
	default:
		err = s.takeAway(kill)
	}
	if err != nil {
		s.t.Errorf("storm: %s: %v", kill, err)
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.kills[kill.What]++
}

// takeAway kills a component or a node, and starts it again.
func (s *storming) takeAway(kill storm.Kill) error {
	if kill.Power {
		s.losesPower(kill.What)
	}
	s.mutex.Lock()
	s.away[kill.What] = true
	s.mutex.Unlock()
	start := time.Now()
	if err := s.run("kill", kill.What); err != nil {
		return err
	}
	killed := time.Since(start)
	s.until(time.Since(s.begun) + kill.Away)
	again := time.Now()
	if err := s.run("start", kill.What); err != nil {
		return err
	}
	s.mutex.Lock()
	delete(s.away, kill.What)
	s.mutex.Unlock()
	s.t.Logf("storm: %s (to kill it took %s, to start it %s)", kill, killed.Round(100*time.Millisecond), time.Since(again).Round(100*time.Millisecond))
	return nil
}

// run runs the command, also when the test ends: nothing stays away.
func (s *storming) run(action, what string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	return control(ctx, action, what)
}

// startAll starts whatever is still away.
func (s *storming) startAll() {
	s.ended.Wait()
	for _, what := range slices.Sorted(maps.Keys(s.away)) {
		if err := s.run("start", what); err != nil {
			s.t.Errorf("storm: start %s: %v", what, err)
		}
	}
}

// persist calls kill until it returns how many it has killed, because the API server may be away and the operator may not be there.
func (s *storming) persist(kill func(context.Context) (int, error)) error {
	return walk.Within(s.t.Context(), 2*time.Minute, "the operator to be there", func(ctx context.Context) error {
		n, err := kill(ctx)
		if err == nil && n == 0 {
			err = errors.New("there is none")
		}
		if s.t.Context().Err() != nil {
			return nil
		}
		return err
	})
}

// killOperatorPods deletes the pods of the operator at once, without giving their processes time to end.
func killOperatorPods(ctx context.Context) (killed int, err error) {
	pods, err := suite.cluster.OperatorPods(ctx)
	for i := range pods {
		if pods[i].DeletionTimestamp != nil {
			continue
		}
		if err := client.IgnoreNotFound(suite.cluster.Client.Delete(ctx, &pods[i], client.GracePeriodSeconds(0))); err != nil {
			return killed, err
		}
		killed++
	}
	return killed, err
}

// killOperatorProcesses kills the processes of the operator's pods, which run on this machine.
func killOperatorProcesses(ctx context.Context) (killed int, err error) {
	pods, err := suite.cluster.OperatorPods(ctx)
	for _, pod := range pods {
		processes, err := processesOf(string(pod.UID), "/manager")
		if err != nil {
			return killed, err
		}
		for _, pid := range processes {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return killed, fmt.Errorf("kill the process %d of %s: %w", pid, pod.Name, err)
			}
			killed++
		}
	}
	return killed, err
}

// processesOf returns the processes of a pod that run this program.
func processesOf(podUID, program string) (found []int, err error) {
	groups, err := filepath.Glob("/proc/[0-9]*/cgroup")
	for _, group := range groups {
		// A process may end while it is looked at.
		content, err := os.ReadFile(group)
		if err != nil || !bytes.Contains(content, []byte("pod"+podUID)) {
			continue
		}
		folder := filepath.Dir(group)
		line, err := os.ReadFile(filepath.Join(folder, "cmdline"))
		if name, _, _ := bytes.Cut(line, []byte{0}); err != nil || string(name) != program {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(folder))
		if err != nil {
			return nil, err
		}
		found = append(found, pid)
	}
	return found, err
}
