package executor

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
	"github.com/example/memcached-operator/operator/memcached/update/rollout"
)

// Executor makes steps.
type Executor struct {
	// Client writes.
	Client client.Client

	// Live reads from the API server.
	Live client.Reader
}

// Do makes a step that was decided from a situation. It returns what became of it: the step, or a Wait that says why it
// cannot be made. An error is marked as stale if the situation is not that of the API server any more; nothing was changed
// then.
func (e *Executor) Do(ctx context.Context, situation rollout.Input, step rollout.Step) (rollout.Step, error) {
	if step.Kind == rollout.None || step.Kind == rollout.Wait {
		return step, nil
	}
	if err := e.confirm(ctx, situation); err != nil {
		return step, err
	}
	switch {
	case step.Kind == rollout.Patch:
		//nolint:forbidigo // No plan has pods, so package apply does not know them.
		err := e.Client.Patch(ctx, step.Pod.DeepCopy(), patch(step), client.FieldOwner(owned.Manager))
		return refused(step, "changed", err)
	case step.Kind == rollout.Resize:
		err := e.Client.SubResource("resize").Patch(ctx, step.Pod.DeepCopy(), patch(step), client.FieldOwner(owned.Manager))
		return refused(step, "resized", err)
	case step.Unready:
		//nolint:forbidigo // As above.
		err := e.Client.Delete(ctx, step.Pod.DeepCopy(), client.Preconditions{
			UID: &step.Pod.UID, ResourceVersion: &step.Pod.ResourceVersion,
		})
		return refused(step, "deleted", err)
	}
	return e.evict(ctx, situation, step)
}

func patch(step rollout.Step) client.Patch {
	return client.RawPatch(types.StrategicMergePatchType, step.Patch)
}

// refused sorts what the API server says of a step. What it does not want is told to the user, who may have a policy or a
// quota that forbids it.
func refused(step rollout.Step, done string, err error) (rollout.Step, error) {
	switch {
	case err == nil:
		return step, nil
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return step, reconcileerror.Stale(fmt.Errorf("pod %s/%s has changed meanwhile: %w", step.Pod.Namespace, step.Pod.Name, err))
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err):
		return wait(step.Pod, true, fmt.Sprintf("%s cannot be %s: %s", step.Pod.Name, done, err)), nil
	}
	return step, fmt.Errorf("pod %s/%s could not be %s: %w", step.Pod.Namespace, step.Pod.Name, done, err)
}

func wait(pod *corev1.Pod, stuck bool, why string) rollout.Step {
	return rollout.Step{Kind: rollout.Wait, Pod: pod, Message: why, Stuck: stuck, After: recheck}
}
