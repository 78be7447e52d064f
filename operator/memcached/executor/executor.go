package executor

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/pods"
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

// patch changes a running pod. A dry run comes first: an admission policy may change another image along with any change of a pod, and
// the kubelet would restart that container.
func (e *Executor) patch(ctx context.Context, step rollout.Step) (rollout.Step, error) {
	change, answer := client.RawPatch(types.StrategicMergePatchType, step.Patch), step.Pod.DeepCopy()
	//nolint:forbidigo // A dry run writes nothing.
	err := e.Client.Patch(ctx, answer, change, client.DryRunAll, client.FieldOwner(owned.Manager))
	if err != nil {
		return result(step, "changed", err)
	}
	if why := restarts(step, answer); why != "" {
		return wait(step.Pod, true, why), nil
	}
	answer = step.Pod.DeepCopy()
	//nolint:forbidigo // Pods are in no plan, so package apply does not write them.
	err = e.Client.Patch(ctx, answer, change, client.FieldOwner(owned.Manager))
	return changed(step, answer, "changed", err)
}

// restarts returns which running container would restart although the step leaves its image as it is, empty if none would.
func restarts(step rollout.Step, answer *corev1.Pod) string {
	var asked struct{ Spec corev1.PodSpec }
	_ = json.Unmarshal(step.Patch, &asked) // Package rollout has encoded it.
	for _, status := range step.Pod.Status.ContainerStatuses {
		before, after := pods.Container(step.Pod.Spec.Containers, status.Name), pods.Container(answer.Spec.Containers, status.Name)
		if status.State.Running == nil || before == nil || after == nil || before.Image == after.Image {
			continue
		}
		if pods.Container(asked.Spec.Containers, status.Name) == nil {
			return fmt.Sprintf("%s is not changed, because an admission policy or webhook would change the image of container %s as well, from %s to %s, "+
				"and the container would restart", step.Pod.Name, status.Name, before.Image, after.Image)
		}
	}
	return ""
}
