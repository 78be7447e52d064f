package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/pods"
	"github.com/example/memcached-operator/operator/memcached/update/rollout"
)

// patch changes a running pod. A dry run comes first: an admission policy may change another image along with any change of a pod, and
// the kubelet would restart that container.
func (e *Executor) patch(ctx context.Context, step rollout.Step) (rollout.Step, error) {
	change, answer := client.RawPatch(types.StrategicMergePatchType, step.Patch), step.Pod.DeepCopy()
	//nolint:forbidigo // A dry run writes nothing.
	err := e.Client.Patch(ctx, answer, change, client.DryRunAll, client.FieldOwner(owned.Manager))
	if err != nil {
		return result(step, "changed", err)
	}
	if why, err := restarts(step, answer); err != nil || why != "" {
		return wait(step.Pod, true, why), err
	}
	answer = step.Pod.DeepCopy()
	//nolint:forbidigo // Pods are in no plan, so package apply does not write them.
	err = e.Client.Patch(ctx, answer, change, client.FieldOwner(owned.Manager))
	return changed(step, answer, "changed", err)
}

// restarts returns which running container would restart although the step leaves its image as it is, empty if none would.
func restarts(step rollout.Step, answer *corev1.Pod) (string, error) {
	raw, err := json.Marshal(step.Pod)
	if err != nil {
		return "", fmt.Errorf("encode pod %s/%s: %w", step.Pod.Namespace, step.Pod.Name, err)
	}
	asked := &corev1.Pod{}
	if raw, err = strategicpatch.StrategicMergePatch(raw, step.Patch, asked); err == nil {
		err = json.Unmarshal(raw, asked)
	}
	if err != nil {
		return "", fmt.Errorf("apply the patch of pod %s/%s: %w", step.Pod.Namespace, step.Pod.Name, err)
	}
	for _, before := range step.Pod.Spec.Containers {
		wanted, after := pods.Container(asked.Spec.Containers, before.Name), pods.Container(answer.Spec.Containers, before.Name)
		runs := slices.ContainsFunc(step.Pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
			return s.Name == before.Name && s.State.Running != nil
		})
		if runs && wanted != nil && after != nil && wanted.Image == before.Image && after.Image != before.Image {
			return fmt.Sprintf("%s is not changed, because an admission policy or webhook would change the image of container %s as well, from %s to %s, "+
				"and the container would restart", step.Pod.Name, before.Name, before.Image, after.Image), nil
		}
	}
	return "", nil
}
