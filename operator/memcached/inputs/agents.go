package inputs

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/kube/pods"
)

// agentTimeout is how long an agent may take to answer. It asks its memcached, which answers in milliseconds or not at all.
const agentTimeout = 2 * time.Second

// Revisions returns the ControllerRevisions of a StatefulSet.
func Revisions(ctx context.Context, reader client.Reader, set *appsv1.StatefulSet) ([]appsv1.ControllerRevision, error) {
	found := &appsv1.ControllerRevisionList{}
	if err := reader.List(ctx, found, client.InNamespace(set.Namespace), client.MatchingLabels(set.Spec.Selector.MatchLabels)); err != nil {
		return nil, fmt.Errorf("list the revisions of StatefulSet %s/%s: %w", set.Namespace, set.Name, err)
	}
	return slices.DeleteFunc(found.Items, func(r appsv1.ControllerRevision) bool { return !metav1.IsControlledBy(&r, set) }), nil
}

// agents is the client for agents. It keeps no connection open: agents are asked seldom.
var agents = &http.Client{
	Timeout:   agentTimeout,
	Transport: &http.Transport{DisableKeepAlives: true, DialContext: (&net.Dialer{Timeout: agentTimeout}).DialContext},
}

// States asks the agents of all pods that have one, at the same time. Who does not answer, or whose memcached does not, has
// no state: the caller knows what to do without, and the pod's own readiness tells of what is wrong.
func States(ctx context.Context, of []corev1.Pod) map[string]*agentapi.State {
	states := map[string]*agentapi.State{}
	var lock sync.Mutex
	var asking sync.WaitGroup
	for i := range of {
		if of[i].Status.PodIP == "" || pods.Container(of[i].Spec.Containers, agentapi.AgentContainer) == nil {
			continue
		}
		asking.Go(func() {
			answer, err := agentapi.Fetch(ctx, agents, net.JoinHostPort(of[i].Status.PodIP, strconv.Itoa(agentapi.MetricsPort)))
			if err != nil {
				return
			}
			lock.Lock()
			defer lock.Unlock()
			states[of[i].Name] = answer
		})
	}
	asking.Wait()
	return states
}
