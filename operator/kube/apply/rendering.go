package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/workload"
)

// nameRendering annotates a Deployment with what its pod template was rendered from and who wanted it, if the plan asks for that. It is
// called right before a write, because the annotation is never a reason to write: neither the comparison nor the hash contains it.
func nameRendering(plan owned.Plan, wanted *unstructured.Unstructured, found client.Object, change *Change) error {
	i := slices.IndexFunc(plan.Rendered, func(r owned.Rendered) bool { return r.Object == change.Object })
	if i < 0 {
		return nil
	}
	template, _, err := unstructured.NestedMap(wanted.Object, "spec", "template")
	if err != nil {
		return fmt.Errorf("read the pod template of %s: %w", wanted.GetName(), err)
	}
	var rendering workload.Rendering
	if rendering.Spec, err = hashOf(plan.Rendered[i].Spec); err != nil {
		return err
	}
	if rendering.Template, err = hashOf(template); err != nil {
		return err
	}
	if deployment, ok := found.(*appsv1.Deployment); ok {
		rendering = rendering.Over(deployment, change.Action == Updated, plan.Rendered[i].SpecApplied)
	}
	raw, err := json.Marshal(rendering)
	if err != nil {
		return fmt.Errorf("encode the rendering of %s: %w", wanted.GetName(), err)
	}
	annotations := wanted.GetAnnotations()
	annotations[workload.RenderingAnnotation] = string(raw)
	wanted.SetAnnotations(annotations)
	return nil
}

func hashOf(content any) (string, error) {
	raw, err := json.Marshal(content)
	if err != nil {
		return "", fmt.Errorf("encode what a pod template is rendered from: %w", err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8]), nil
}
