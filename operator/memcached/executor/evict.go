package executor

import (
	"context"
	"fmt"
	"strings"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/operator/kube/pods"
	"github.com/example/memcached-operator/operator/memcached/update/rollout"
)

const (
	// recheck is when to try again what was refused. What it depends on is not watched.
	recheck = 10 * time.Second

	// patience is how long an eviction may take. The client by itself tries one that is refused again for minutes if the API
	// server names a time, and would hold up all other caches.
	patience = 5 * time.Second

	// settling is how long after a pod has become ready, or stopped to be, its budget may not know that yet.
	settling = time.Minute
)

// evict removes a pod if its PodDisruptionBudget allows it.
func (e *Executor) evict(ctx context.Context, situation rollout.Input, step rollout.Step) (rollout.Step, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	pod := step.Pod.DeepCopy()
	err := e.Client.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &pod.UID, ResourceVersion: &pod.ResourceVersion},
		},
	})
	if cause, found := apierrors.StatusCause(err, policyv1.DisruptionBudgetCause); found {
		why := fmt.Sprintf("%s is not replaced yet, because its PodDisruptionBudget does not allow it: %s", pod.Name, cause.Message)
		return wait(step.Pod, settled(situation), why), nil
	}
	if err != nil && strings.Contains(err.Error(), "more than one PodDisruptionBudget") {
		why := fmt.Sprintf("%s cannot be replaced, because more than one PodDisruptionBudget selects it, and Kubernetes evicts no such pod: "+
			"remove all but one, or spec.disruption", pod.Name)
		return wait(step.Pod, true, why), nil
	}
	return refused(step, "evicted", err)
}

// settled tells whether all pods have been ready, or not ready, for so long that a budget that allows nothing is not
// going to by itself. Those that limp are not ready, and nobody waits for them to be.
func settled(situation rollout.Input) bool {
	for i := range situation.Pods {
		if situation.Now.Sub(pods.ReadinessSince(&situation.Pods[i])) < settling {
			return false
		}
	}
	return true
}
