package inputs

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/kube/pods"
	"github.com/example/memcached-operator/operator/kube/watch"
)

const (
	// agentTimeout is how long all agents of a cache may take to answer. Each asks its memcached, which answers in milliseconds or
	// not at all.
	agentTimeout = 2 * time.Second

	// leastTimeout is how long one agent may take in any case: it keeps an answer back for 100 ms when it is asked often.
	leastTimeout = 300 * time.Millisecond

	// usualTime is how long a reconcile waits for agents in any case, and most how many reconciles wait for longer at the same time:
	// fewer than half of the workers, so that agents that say nothing do not keep other caches from being reconciled.
	usualTime = 200 * time.Millisecond
	most      = watch.Concurrency/2 - 1

	// atOnce is how many agents of a cache are asked at the same time. So in all, no more than that times the number of workers are.
	atOnce = 32
)

// Revisions returns the ControllerRevisions of a StatefulSet.
func Revisions(ctx context.Context, reader client.Reader, set *appsv1.StatefulSet) ([]appsv1.ControllerRevision, error) {
	found := &appsv1.ControllerRevisionList{}
	if err := reader.List(ctx, found, client.InNamespace(set.Namespace), client.MatchingLabels(set.Spec.Selector.MatchLabels)); err != nil {
		return nil, fmt.Errorf("list the revisions of StatefulSet %s/%s: %w", set.Namespace, set.Name, err)
	}
	return slices.DeleteFunc(found.Items, func(r appsv1.ControllerRevision) bool { return !metav1.IsControlledBy(&r, set) }), nil
}

// Agents asks agents. All reconciles share it.
type Agents struct {
	// Fetch asks the agent at an address, host:port.
	Fetch func(ctx context.Context, address string) (*agentapi.State, error)

	waiting atomic.Int32 // Reconciles that wait for longer than usual.
}

// States asks the agents of all pods that have one. Who does not answer, or whose memcached does not, has no state: the caller
// knows what to do without, and the pod's own readiness tells of what is wrong.
func (a *Agents) States(ctx context.Context, of []corev1.Pod) map[string]*agentapi.State {
	ctx, cancel := context.WithTimeout(ctx, agentTimeout)
	defer cancel()
	answered := make(chan map[string]*agentapi.State, 1)
	go func() { answered <- a.ask(ctx, of) }()
	select {
	case states := <-answered:
		return states
	case <-time.After(usualTime):
	}
	defer a.waiting.Add(-1)
	if a.waiting.Add(1) > most {
		cancel() // Those that have answered have a state.
	}
	return <-answered
}

// Silent reports whether the agent of a pod has no state.
func Silent(of []corev1.Pod, states map[string]*agentapi.State) bool {
	return slices.ContainsFunc(of, func(pod corev1.Pod) bool { return hasAgent(&pod) && states[pod.Name] == nil })
}

func hasAgent(pod *corev1.Pod) bool {
	return pods.Container(pod.Spec.Containers, agentapi.AgentContainer) != nil
}

// ask returns the states of those pods whose agents answer before ctx ends.
func (a *Agents) ask(ctx context.Context, of []corev1.Pod) map[string]*agentapi.State {
	states := map[string]*agentapi.State{}
	var lock sync.Mutex
	var asking errgroup.Group
	asking.SetLimit(atOnce)
	each := max(leastTimeout, agentTimeout*atOnce/time.Duration(max(atOnce, len(of)))) // So that all are asked, even if most say nothing.
	for i := range of {
		if of[i].Status.PodIP == "" || !hasAgent(&of[i]) {
			continue
		}
		asking.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, each)
			defer cancel()
			answer, err := a.Fetch(ctx, net.JoinHostPort(of[i].Status.PodIP, strconv.Itoa(agentapi.MetricsPort)))
			if err == nil {
				lock.Lock()
				defer lock.Unlock()
				states[of[i].Name] = answer
			}
			return nil // One that does not answer does not matter to the others.
		})
	}
	_ = asking.Wait()
	return states
}
