package diff

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/kube/pods"
	"github.com/example/memcached-operator/operator/memcached/args"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
)

// Read returns the state of pods with this template, which may be one that the API server stored or one that the operator just
// rendered. A template seldom says the version of memcached: the caller fills in Version. Read fails if the template has no
// container for memcached, or if an argument of memcached cannot be parsed.
func Read(workload Workload, template *corev1.PodTemplateSpec) (State, error) {
	template = template.DeepCopy()
	version := template.Annotations[pod.VersionAnnotation]
	delete(template.Annotations, pod.VersionAnnotation)
	spec := &template.Spec
	for i := range spec.Containers {
		if container := &spec.Containers[i]; container.ImagePullPolicy == pullPolicy(container.Image) {
			container.ImagePullPolicy = "" // The default depends on the image, which is a change of its own.
		}
	}
	state := State{
		Workload: workload, Version: version, Labels: template.Labels, Annotations: template.Annotations, Rest: map[string]string{},
	}
	memcached := pods.Container(spec.Containers, pod.MemcachedContainer)
	if memcached == nil {
		return State{}, fmt.Errorf("the pod template has no container %q", pod.MemcachedContainer)
	}
	arguments, err := args.Parse(memcached.Args)
	if err != nil {
		return State{}, err
	}
	state.Image, state.Command, state.Arguments = memcached.Image, memcached.Command, arguments
	state.Resources = takeResources(&memcached.Resources)
	memcached.Image, memcached.Command, memcached.Args = "", nil, nil
	if agent := pods.Container(spec.Containers, agentapi.AgentContainer); agent != nil {
		state.AgentImage, agent.Image = agent.Image, ""
	}
	takeVolumes(spec, &state)
	state.Scheduling = takeScheduling(spec)
	rest, err := runtime.DefaultUnstructuredConverter.ToUnstructured(spec)
	flatten(state.Rest, "spec", rest)
	return state, err
}

// takeResources moves CPU and memory out of the resources.
func takeResources(from *corev1.ResourceRequirements) Resources {
	resources := Resources{
		CPURequest:    from.Requests.Cpu().MilliValue(),
		CPULimit:      from.Limits.Cpu().MilliValue(),
		MemoryRequest: from.Requests.Memory().Value(),
		MemoryLimit:   from.Limits.Memory().Value(),
	}
	for _, list := range []corev1.ResourceList{from.Requests, from.Limits} {
		delete(list, corev1.ResourceCPU)
		delete(list, corev1.ResourceMemory)
	}
	return resources
}

// takeVolumes moves the names of Secrets and the size of the volume with the items out of the volumes.
func takeVolumes(spec *corev1.PodSpec, state *State) {
	for i := range spec.Volumes {
		volume := &spec.Volumes[i]
		switch {
		case volume.Name == pod.CertificatesVolume && volume.Secret != nil:
			state.CertificatesSecret, volume.Secret.SecretName = volume.Secret.SecretName, ""
		case volume.Name == pod.UsersVolume && volume.Secret != nil:
			state.UsersSecret, volume.Secret.SecretName = volume.Secret.SecretName, ""
		case volume.Name == pod.CacheVolume && volume.EmptyDir != nil && volume.EmptyDir.SizeLimit != nil:
			state.VolumeSize, volume.EmptyDir.SizeLimit = volume.EmptyDir.SizeLimit.Value(), nil
		}
	}
}

// takeScheduling moves the fields of Scheduling out of the pod spec.
func takeScheduling(spec *corev1.PodSpec) Scheduling {
	scheduling := Scheduling{
		NodeSelector: spec.NodeSelector, PriorityClass: spec.PriorityClassName,
		Tolerations: inJSON(spec.Tolerations), TopologySpread: inJSON(spec.TopologySpreadConstraints),
	}
	if spec.Affinity != nil {
		scheduling.Affinity = inJSON([]*corev1.Affinity{spec.Affinity})[0]
	}
	spec.NodeSelector, spec.PriorityClassName, spec.Affinity = nil, "", nil
	spec.Tolerations, spec.TopologySpreadConstraints = nil, nil
	return scheduling
}

// inJSON returns each element as JSON, sorted, because their order means nothing to Kubernetes.
func inJSON[T any](elements []T) []string {
	var texts []string
	for _, element := range elements {
		raw, _ := json.Marshal(element) // Kubernetes' types can always be encoded.
		texts = append(texts, string(raw))
	}
	slices.Sort(texts)
	return texts
}
