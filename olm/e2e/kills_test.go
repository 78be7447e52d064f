//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/olm/e2e/kills"
	"github.com/example/memcached-operator/olm/walk"
)

// killing carries out a plan of kills.
type killing struct {
	t     *testing.T
	begun time.Time
	// losesPower is called before a node loses its power, and what it returns afterwards.
	losesPower func(node string) (lost func())
	groups     map[string]*sync.Mutex
	ended      sync.WaitGroup

	mutex sync.Mutex
	kills map[string]int
	away  map[string]bool
}

// startKills begins to carry out a plan. Whatever is away when the test ends, however it ends, is started again.
func startKills(t *testing.T, plan []kills.Kill, losesPower func(node string) (lost func())) *killing {
	t.Helper()
	k := &killing{
		t: t, begun: time.Now(), losesPower: losesPower,
		kills: map[string]int{}, away: map[string]bool{}, groups: map[string]*sync.Mutex{},
	}
	for _, kill := range plan {
		k.groups[kill.Group] = &sync.Mutex{}
	}
	t.Cleanup(k.startAll)
	k.ended.Go(func() {
		for _, kill := range plan {
			if k.until(kill.At) {
				k.ended.Go(func() { k.carryOut(kill) })
			}
		}
	})
	return k
}

// until waits until this time since the beginning. It returns false if the test ends before.
func (k *killing) until(at time.Duration) bool {
	select {
	case <-time.After(at - time.Since(k.begun)):
		return true
	case <-k.t.Context().Done():
		return false
	}
}

// carryOut waits for the other parts of the group, which may take longer to start than planned.
func (k *killing) carryOut(kill kills.Kill) {
	k.groups[kill.Group].Lock()
	defer k.groups[kill.Group].Unlock()
	var err error
	switch kill.What {
	case kills.OperatorPod:
		err = k.persist(killOperatorPods)
	case kills.OperatorProcess:
		err = k.persist(killOperatorProcesses)
	default:
		err = k.takeAway(kill)
	}
	if err != nil {
		k.t.Errorf("%s: %v", kill, err)
		return
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.kills[kill.What]++
}

// takeAway kills a component or a node, and starts it again.
func (k *killing) takeAway(kill kills.Kill) error {
	lost := func() {}
	if kill.Power {
		lost = k.losesPower(kill.What)
	}
	k.mutex.Lock()
	k.away[kill.What] = true
	k.mutex.Unlock()
	start := time.Now()
	if err := k.run("kill", kill.What); err != nil {
		return err
	}
	lost()
	killed := time.Since(start)
	k.until(time.Since(k.begun) + kill.Away)
	again := time.Now()
	if err := k.run("start", kill.What); err != nil {
		return err
	}
	k.mutex.Lock()
	delete(k.away, kill.What)
	k.mutex.Unlock()
	k.t.Logf("%s (to kill it took %s, to start it %s)", kill, killed.Round(100*time.Millisecond), time.Since(again).Round(100*time.Millisecond))
	return nil
}

// run runs the command, also when the test ends: nothing stays away.
func (k *killing) run(action, what string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	return control(ctx, action, what)
}

// startAll starts whatever is still away.
func (k *killing) startAll() {
	k.ended.Wait()
	for _, what := range slices.Sorted(maps.Keys(k.away)) {
		if err := k.run("start", what); err != nil {
			k.t.Errorf("start %s: %v", what, err)
		}
	}
}

// persist calls kill until it returns how many it has killed, because the API server may be away and the operator may not be there.
func (k *killing) persist(kill func(context.Context) (int, error)) error {
	return walk.Within(k.t.Context(), 2*time.Minute, "the operator to be there", func(ctx context.Context) error {
		n, err := kill(ctx)
		if err == nil && n == 0 {
			err = errors.New("there is none")
		}
		if k.t.Context().Err() != nil {
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
		processes, err := operatorProgram.processes(&pod)
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
