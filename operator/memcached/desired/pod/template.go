package pod

import (
	"maps"
	"strconv"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/memcached/desired/entry"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// userID is the user that memcached runs as. Pod security wants a number, and images name their user: 11211 is
// memcached's in the official images. An image without that user works as well.
const userID = 11211

// Template returns the pod template that a request asks for. The error is Terminal: the spec asks for something impossible, and
// the message says what.
func Template(r Request) (*corev1ac.PodTemplateSpecApplyConfiguration, error) {
	s, err := resolve(r)
	if err != nil {
		return nil, err
	}
	template := corev1ac.PodTemplateSpec().WithLabels(labels(s)).WithSpec(spec(s))
	if annotations := annotations(s); len(annotations) > 0 {
		template.WithAnnotations(annotations)
	}
	return template, nil
}

func labels(s settings) map[string]string {
	labels := maps.Clone(s.Identity.Labels())
	maps.Copy(labels, s.Spec.PodLabels) // The API refuses keys of ours.
	return labels
}

func annotations(s settings) map[string]string {
	annotations := maps.Clone(s.Spec.PodAnnotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	if inputs.ResizesLive(s.Spec) {
		annotations[agentapi.CacheMemoryAnnotation] = strconv.FormatInt(s.size.CacheMemory, 10)
	}
	// Only the rollout of a StatefulSet needs the version, and a Deployment replaces its pods for an annotation.
	if s.version != "" && (inputs.StablePods(s.Spec) || s.Spec.Image != "") {
		annotations[VersionAnnotation] = s.version
	}
	return annotations
}

// spec returns the spec of a pod. Fields that are left out do not affect memcached, or have defaults that suit it.
func spec(s settings) *corev1ac.PodSpecApplyConfiguration {
	pod := corev1ac.PodSpec().
		// memcached does not talk to the API server, and needs no variables about the namespace's Services.
		WithAutomountServiceAccountToken(false).
		WithEnableServiceLinks(false).
		WithSecurityContext(podSecurity()).
		WithTopologySpreadConstraints(spread(s)...).
		WithContainers(memcached(s))
	if inputs.NeedsAgent(s.Spec) {
		// The agent signals memcached, which it finds by its name.
		pod.WithShareProcessNamespace(true).WithContainers(agent(s))
	}
	if s.Spec.WarmRestart {
		pod.WithTerminationGracePeriodSeconds(entry.GracePeriodSeconds)
	}
	for _, m := range mounts(s) {
		pod.WithVolumes(m.volume)
	}
	return place(pod, s)
}

// place sets which nodes may run the pod.
func place(pod *corev1ac.PodSpecApplyConfiguration, s settings) *corev1ac.PodSpecApplyConfiguration {
	if s.Spec.Affinity != nil {
		pod.WithAffinity(owned.Convert[corev1ac.AffinityApplyConfiguration](s.Spec.Affinity))
	}
	for _, toleration := range s.Spec.Tolerations {
		pod.WithTolerations(owned.Convert[corev1ac.TolerationApplyConfiguration](toleration))
	}
	if len(s.Spec.NodeSelector) > 0 {
		pod.WithNodeSelector(s.Spec.NodeSelector)
	}
	if s.Spec.PriorityClassName != "" {
		pod.WithPriorityClassName(s.Spec.PriorityClassName)
	}
	return pod
}
