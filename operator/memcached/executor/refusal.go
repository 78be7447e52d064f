package executor

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/example/memcached-operator/operator/kube/reconcileerror"
	"github.com/example/memcached-operator/operator/memcached/update/rollout"
)

// recheck is when to try a refused step again. What the refusal depends on is not watched.
const recheck = 10 * time.Second

// result returns the result of a step from the error of the API server. A refusal becomes a Wait that tells the user, who may have
// a policy or a quota that forbids the step.
func result(step rollout.Step, done string, err error) (rollout.Step, error) {
	if err == nil {
		return step, nil
	}
	step.Finishes = false
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return step, reconcileerror.Stale(fmt.Errorf("pod %s/%s has changed meanwhile: %w", step.Pod.Namespace, step.Pod.Name, err))
	case reconcileerror.Refused(err):
		return wait(step.Pod, true, fmt.Sprintf("%s cannot be %s: %s", step.Pod.Name, done, err)), nil
	}
	return step, fmt.Errorf("pod %s/%s could not be %s: %w", step.Pod.Namespace, step.Pod.Name, done, err)
}

// changed is like result for a step that changes a pod. A policy or webhook may undo the change: to repeat it would go on for ever.
func changed(step rollout.Step, answer *corev1.Pod, done string, err error) (rollout.Step, error) {
	if err == nil && answer.ResourceVersion == step.Pod.ResourceVersion {
		return wait(step.Pod, true, fmt.Sprintf("%s is not %s, because an admission policy or webhook undoes the change", step.Pod.Name, done)), nil
	}
	return result(step, done, err)
}

func wait(pod *corev1.Pod, stuck bool, message string) rollout.Step {
	return rollout.Step{Kind: rollout.Wait, Pod: pod, Message: message, Stuck: stuck, After: recheck}
}
