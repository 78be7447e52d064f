package apply

import (
	"context"
	"slices"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/workload"
)

const replicasPath = "spec.replicas"

// scaleOnly makes the part of a change that is about the number of pods, because the rest is refused. A Deployment without the rendering
// annotation keeps its size: only the hash, which depends on the size, tells later that it was given a template before.
func (a *Applier) scaleOnly(
	ctx context.Context, owner client.Object, wanted *unstructured.Unstructured, found client.Object, change Change, result *Result,
) error {
	if found == nil || found.GetAnnotations()[workload.RenderingAnnotation] == "" || !slices.Contains(change.Fields, replicasPath) {
		return nil
	}
	change.Fields = []string{replicasPath}
	if err := a.confirmFor(ctx, owner, disturbsPods(change, wanted, found)); err != nil {
		return err
	}
	_, err := a.scale(ctx, owned.Recorded{Object: change.Object}, wanted, found, result)
	return explain(change.Object, err)
}

// scale changes the number of pods, and returns the object as it is then. Policies for workloads do not see the subresource.
func (a *Applier) scale(
	ctx context.Context, recorded owned.Recorded, wanted *unstructured.Unstructured, found client.Object, result *Result,
) (client.Object, error) {
	size, _, err := unstructured.NestedInt64(wanted.Object, "spec", "replicas")
	if err != nil {
		return nil, err
	}
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: int32(size)}}
	scale.Name, scale.Namespace, scale.UID, scale.ResourceVersion = found.GetName(), found.GetNamespace(), found.GetUID(), found.GetResourceVersion()
	if err := a.writer.SubResource("scale").Update(ctx, found, client.WithSubResourceBody(scale), client.FieldOwner(owned.Manager)); err != nil {
		return nil, err
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(found)
	if err == nil {
		err = unstructured.SetNestedField(fields, size, "spec", "replicas")
	}
	if err != nil {
		return nil, err
	}
	scaled := &unstructured.Unstructured{Object: fields}
	scaled.SetGroupVersionKind(wanted.GroupVersionKind())
	scaled.SetResourceVersion(scale.ResourceVersion)
	scaled.SetGeneration(found.GetGeneration() + 1) // As the API server does for a new size.
	result.Objects = append(result.Objects, scaled)
	change := Change{Action: Updated, Object: recorded.Object, Fields: []string{replicasPath}}
	if recorded.SpecApplied {
		change.Action = Repaired
	}
	result.Changes = append(result.Changes, change)
	return a.typed(scaled)
}
