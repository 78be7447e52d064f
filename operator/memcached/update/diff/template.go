package diff

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

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
	fillDefaults(&template.Spec)
	version := template.Annotations[pod.VersionAnnotation]
	delete(template.Annotations, pod.VersionAnnotation)
	spec := &template.Spec
	state := State{
		Workload:    workload,
		Version:     version,
		Labels:      maps.Clone(template.Labels),
		Annotations: maps.Clone(template.Annotations),
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
	// The agent is a container or a sidecar (an init container that keeps running).
	for _, containers := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		if agent := pods.Container(containers, agentapi.AgentContainer); agent != nil {
			state.AgentImage, agent.Image = agent.Image, ""
		}
	}
	takeVolumes(spec, &state)
	if state.Scheduling, err = takeScheduling(spec); err != nil {
		return State{}, err
	}
	template.Labels, template.Annotations = nil, nil
	state.Rest, err = flatten(template)
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
func takeScheduling(spec *corev1.PodSpec) (Scheduling, error) {
	scheduling := Scheduling{NodeSelector: spec.NodeSelector, PriorityClass: spec.PriorityClassName}
	if spec.Affinity != nil {
		raw, err := json.Marshal(spec.Affinity)
		if err != nil {
			return scheduling, err
		}
		scheduling.Affinity = string(raw)
	}
	var err error
	if scheduling.Tolerations, err = inJSON(spec.Tolerations); err != nil {
		return scheduling, err
	}
	if scheduling.TopologySpread, err = inJSON(spec.TopologySpreadConstraints); err != nil {
		return scheduling, err
	}
	spec.NodeSelector, spec.PriorityClassName, spec.Affinity = nil, "", nil
	spec.Tolerations, spec.TopologySpreadConstraints = nil, nil
	return scheduling, nil
}

// inJSON returns each element as JSON, sorted, because their order means nothing to Kubernetes.
func inJSON[T any](elements []T) ([]string, error) {
	var texts []string
	for _, element := range elements {
		raw, err := json.Marshal(element)
		if err != nil {
			return nil, err
		}
		texts = append(texts, string(raw))
	}
	slices.Sort(texts)
	return texts, nil
}
