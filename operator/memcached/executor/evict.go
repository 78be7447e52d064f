package executor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/kube/pods"
	"github.com/example/memcached-operator/operator/memcached/update/rollout"
)

const (
	// evictionTimeout is how long an eviction may take. If the API server refuses one and names a time, as it does while it has not counted
	// the pods of a PodDisruptionBudget, the client would retry for minutes, and all other caches would wait.
	evictionTimeout = 5 * time.Second

	// budgetDelay is how long after a pod has become ready or unready its PodDisruptionBudget may not know that yet.
	budgetDelay = time.Minute

	// disruptionTimeout is how long a PodDisruptionBudget counts a pod as evicted that is still there: DeletionTimeout of Kubernetes'
	// disruption controller. The API server counts a pod first and deletes it then, so this happens if the operator ends in between, or the
	// pod has just changed.
	disruptionTimeout = 2 * time.Minute
)

// evict removes a pod if its PodDisruptionBudget allows it.
func evict(ctx context.Context, cluster client.Client, input rollout.Input, step rollout.Step) (rollout.Step, error) {
	limited, cancel := context.WithTimeout(ctx, evictionTimeout)
	defer cancel()
	pod := step.Pod.DeepCopy()
	err := cluster.SubResource("eviction").Create(limited, pod, &policyv1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &pod.UID, ResourceVersion: &pod.ResourceVersion},
		},
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return wait(step.Pod, false, fmt.Sprintf("%s is not replaced yet, because the API server has not allowed its eviction within %s", pod.Name, evictionTimeout)), nil
	}
	if cause, found := apierrors.StatusCause(err, policyv1.DisruptionBudgetCause); found {
		message := fmt.Sprintf("%s is not replaced yet, because its PodDisruptionBudget does not allow it: %s", pod.Name, cause.Message)
		soon, err := anyCountedAsEvicted(limited, cluster, input)
		return wait(step.Pod, !soon && !readinessChanged(input), message), err
	}
	if err != nil && strings.Contains(err.Error(), "more than one PodDisruptionBudget") {
		message := fmt.Sprintf("%s cannot be replaced, because more than one PodDisruptionBudget selects it, and Kubernetes evicts no such pod: "+
			"remove all but one, or spec.disruption", pod.Name)
		return wait(step.Pod, true, message), nil
	}
	return result(step, "evicted", err)
}

// anyCountedAsEvicted reports whether a PodDisruptionBudget of the operator counts a pod as evicted that is still there, or there again. It
// allows no other eviction then.
func anyCountedAsEvicted(ctx context.Context, cluster client.Reader, input rollout.Input) (bool, error) {
	budgets := &policyv1.PodDisruptionBudgetList{}
	if err := cluster.List(ctx, budgets, client.InNamespace(input.StatefulSet.Namespace)); err != nil {
		return false, fmt.Errorf("list the PodDisruptionBudgets of namespace %s: %w", input.StatefulSet.Namespace, err)
	}
	return slices.ContainsFunc(budgets.Items, func(budget policyv1.PodDisruptionBudget) bool {
		return slices.ContainsFunc(input.Pods, func(pod corev1.Pod) bool {
			since, counted := budget.Status.DisruptedPods[pod.Name]
			return counted && input.Now.Sub(since.Time) < disruptionTimeout+recheck
		})
	}), nil
}

// readinessChanged reports whether any pod has become ready or unready so lately that a PodDisruptionBudget which allows nothing
// may still do so by itself.
func readinessChanged(input rollout.Input) bool {
	return slices.ContainsFunc(input.Pods, func(pod corev1.Pod) bool {
		return input.Now.Sub(pods.ReadinessSince(&pod)) < budgetDelay
	})
}
