package executor

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/memcached/update/rollout"
)

// Executor makes steps.
type Executor struct {
	// Client writes.
	Client client.Client

	// Live reads from the API server, without a cache.
	Live client.Reader
}

// Do makes a step that package rollout decided on from an input. It returns the step, or a Wait that says why the step cannot be
// made. The error is marked as stale if the API server has a newer state than the input; nothing was changed then.
func (e *Executor) Do(ctx context.Context, input rollout.Input, step rollout.Step) (rollout.Step, error) {
	if step.Kind == rollout.None || step.Kind == rollout.Wait {
		return step, nil
	}
	if err := confirm(ctx, e.Live, input); err != nil {
		return step, err
	}
	switch {
	case step.Kind == rollout.Patch:
		return e.patch(ctx, step)
	case step.Kind == rollout.Resize:
		answer := step.Pod.DeepCopy()
		err := e.Client.SubResource("resize").Patch(ctx, answer, client.RawPatch(types.StrategicMergePatchType, step.Patch), client.FieldOwner(owned.Manager))
		return changed(step, answer, "resized", err)
	case step.Unready:
		//nolint:forbidigo // Pods are in no plan, so package apply does not write them.
		err := e.Client.Delete(ctx, step.Pod.DeepCopy(), client.Preconditions{
			UID: &step.Pod.UID, ResourceVersion: &step.Pod.ResourceVersion,
		})
		return result(step, "deleted", err)
	}
	return evict(ctx, e.Client, input, step)
}
