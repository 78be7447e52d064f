package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/workload"
)

// nameRendering annotates a Deployment with what its pod template was rendered from and who wanted it, if the plan asks for that. It is
// called right before a write, because the annotation is never a reason to write: neither the comparison nor the hash contains it.
func nameRendering(plan owned.Plan, wanted *unstructured.Unstructured, found client.Object, change *Change) error {
	rendered := renderedIn(plan, change.Object)
	if rendered == nil {
		return nil
	}
	rendering, err := renderingOf(rendered, wanted)
	if err != nil {
		return err
	}
	if deployment, ok := found.(*appsv1.Deployment); ok {
		rendering = rendering.Over(deployment, change.Action == Updated, rendered.SpecApplied)
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

func renderedIn(plan owned.Plan, reference owned.Reference) *owned.Rendered {
	i := slices.IndexFunc(plan.Rendered, func(r owned.Rendered) bool { return r.Object == reference })
	if i < 0 {
		return nil
	}
	return &plan.Rendered[i]
}

// renderingOf returns what the pod template of wanted is rendered from.
func renderingOf(rendered *owned.Rendered, wanted *unstructured.Unstructured) (rendering workload.Rendering, err error) {
	template, _, err := unstructured.NestedMap(wanted.Object, "spec", "template")
	if err != nil {
		return rendering, fmt.Errorf("read the pod template of %s: %w", wanted.GetName(), err)
	}
	if rendering.Spec, err = hashOf(rendered.Spec); err == nil {
		rendering.Template, err = hashOf(template)
	}
	return rendering, err
}

// checkRendering returns why a Deployment must not be written: the plan refuses its pod template, and the Deployment was not given it
// before. One that is gone was, if the spec has been applied.
func checkRendering(plan owned.Plan, configuration owned.Configuration, wanted *unstructured.Unstructured, found client.Object) error {
	rendered := renderedIn(plan, owned.ReferenceTo(configuration))
	if rendered == nil || rendered.Refused == nil || rendered.SpecApplied {
		return nil
	}
	deployment, ok := found.(*appsv1.Deployment)
	if !ok {
		return rendered.Refused
	}
	rendering, err := renderingOf(rendered, wanted)
	if err != nil {
		return err
	}
	before := workload.RenderingOf(deployment)
	if before.Spec == rendering.Spec || before.Template == rendering.Template {
		return nil
	}
	if given, err := appliedBefore(configuration, deployment); given || err != nil {
		return err
	}
	return rendered.Refused
}

// appliedBefore reports whether a Deployment was last given a configuration, perhaps with another number of pods. It tells that by the
// hash: releases before 0.4.0 did not annotate the rendering.
func appliedBefore(configuration owned.Configuration, deployment *appsv1.Deployment) (bool, error) {
	wanted, ok := configuration.(*appsv1ac.DeploymentApplyConfiguration)
	if !ok || wanted.Spec == nil {
		return false, nil
	}
	for _, replicas := range []*int32{wanted.Spec.Replicas, deployment.Spec.Replicas} {
		sized, spec := *wanted, *wanted.Spec
		spec.Replicas, sized.Spec = replicas, &spec
		encoded, err := encode(&sized, false)
		if err != nil || encoded.GetAnnotations()[HashAnnotation] == deployment.Annotations[HashAnnotation] {
			return err == nil, err
		}
	}
	return false, nil
}

func hashOf(content any) (string, error) {
	raw, err := json.Marshal(content)
	if err != nil {
		return "", fmt.Errorf("encode what a pod template is rendered from: %w", err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8]), nil
}
