package inputs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/kube/watch"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// podsOf returns pods with agents, whose addresses begin with a word.
func podsOf(word string, count int) []corev1.Pod {
	var pods []corev1.Pod
	for i := range count {
		pods = append(pods, corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", word, i)},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: agentapi.AgentContainer}}},
			Status:     corev1.PodStatus{PodIP: fmt.Sprintf("%s.%d", word, i)},
		})
	}
	return pods
}

// fetch answers for agents after a moment; silent ones say nothing until they are not waited for any more.
func fetch(ctx context.Context, address string) (*agentapi.State, error) {
	patience := 5 * time.Millisecond
	switch {
	case strings.HasPrefix(address, "silent"):
		patience = time.Hour
	case strings.HasPrefix(address, "slow"):
		patience = time.Second
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(patience):
		return &agentapi.State{Version: address}, nil
	}
}

// Each worker reconciles a cache whose pods say nothing, all at once and again and again. Others may have a slow agent.
func TestSilentAgentsHoldFewWorkersForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agents := &inputs.Agents{Fetch: fetch}
		var long atomic.Int32
		var workers sync.WaitGroup
		for range watch.Concurrency {
			workers.Go(func() {
				begin := time.Now()
				agents.States(t.Context(), podsOf("silent", 3))
				if took := time.Since(begin); took > time.Second/2 {
					long.Add(1)
					if took > 2*time.Second {
						t.Errorf("a worker was held for %s", took)
					}
				}
			})
		}
		workers.Wait()
		if n := long.Load(); n >= watch.Concurrency/2 {
			t.Errorf("%d of %d workers were held for long", n, watch.Concurrency)
		}
		if states := agents.States(t.Context(), podsOf("slow", 3)); len(states) != 3 {
			t.Errorf("%d of 3 slow agents have a state when nobody else waits", len(states))
		}
	})
}

// The pods that answer have a state, whatever the others do.
func TestAllAnswersOfACacheTakeTwoSecondsAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		states := (&inputs.Agents{Fetch: fetch}).States(t.Context(), append(podsOf("honest", 500), podsOf("silent", 500)...))
		if took := time.Since(begin); len(states) != 500 || took > 2*time.Second {
			t.Errorf("after %s, %d of 500 agents have a state", took, len(states))
		}
	})
}

// A zone is lost: the agents of the other pods are asked all the same.
func TestSilentAgentsDoNotKeepOthersOfTheirCacheFromBeingAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agents := &inputs.Agents{Fetch: fetch}
		states := agents.States(t.Context(), append(podsOf("silent", 70), podsOf("good", 8)...))
		if len(states) != 8 {
			t.Errorf("%d agents have told their state, want 8", len(states))
		}
	})
}

func TestFewAgentsOfACacheAreAskedAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked, most atomic.Int32
		agents := &inputs.Agents{Fetch: func(ctx context.Context, address string) (*agentapi.State, error) {
			most.Store(max(most.Load(), asked.Add(1)))
			defer asked.Add(-1)
			return fetch(ctx, address)
		}}
		if states := agents.States(t.Context(), podsOf("honest", 1000)); len(states) != 1000 || most.Load() > 50 {
			t.Errorf("%d of 1000 agents have a state, and %d were asked at the same time", len(states), most.Load())
		}
	})
}

func TestPodsWithoutAnAnswerHaveNoState(t *testing.T) {
	refuses := func(context.Context, string) (*agentapi.State, error) { return nil, errors.New("no") }
	if states := (&inputs.Agents{Fetch: refuses}).States(t.Context(), podsOf("honest", 3)); len(states) > 0 {
		t.Errorf("got %v", states)
	}
	without := podsOf("honest", 2)
	without[0].Spec.Containers[0].Name, without[1].Status.PodIP = "memcached", ""
	if states := (&inputs.Agents{Fetch: fetch}).States(t.Context(), without); len(states) > 0 {
		t.Errorf("got %v", states)
	}
}

func TestAnAgentWithoutAStateIsSilent(t *testing.T) {
	both := podsOf("honest", 2)
	states := map[string]*agentapi.State{both[0].Name: {}}
	if !inputs.Silent(both, states) || inputs.Silent(both[:1], states) {
		t.Error("the agent of the second pod has no state, that of the first one has")
	}
	both[1].Spec.Containers[0].Name = "memcached"
	if inputs.Silent(both, states) {
		t.Error("a pod without an agent counts as silent")
	}
}
