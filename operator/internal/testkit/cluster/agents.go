package cluster

import (
	"context"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/memcached/args"
)

// items is how many items each memcached has.
const items = 1000

// Agents returns a function that stands in for the agents of pods: memcached was started when its container was, keeps its items in a
// restart if it has a memory file, and takes as much memory as the pod allows it. version returns the version of memcached in an image,
// empty if it is not known. Pods without an agent, and those whose containers do not run, have no state.
func Agents(version func(image string) string) func(context.Context, []corev1.Pod) map[string]*agentapi.State {
	return func(_ context.Context, pods []corev1.Pod) map[string]*agentapi.State {
		states := map[string]*agentapi.State{}
		for i := range pods {
			if state := agentState(&pods[i], version); state != nil {
				states[pods[i].Name] = state
			}
		}
		return states
	}
}

func agentState(pod *corev1.Pod, version func(image string) string) *agentapi.State {
	container := func(name string) int {
		return slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == name })
	}
	running := func(name string) *corev1.ContainerStatus {
		i := slices.IndexFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.Name == name && c.State.Running != nil })
		if i < 0 {
			return nil
		}
		return &pod.Status.ContainerStatuses[i]
	}
	memcached := running("memcached")
	if container(agentapi.AgentContainer) < 0 || running(agentapi.AgentContainer) == nil || memcached == nil {
		return nil
	}
	arguments, err := args.Parse(pod.Spec.Containers[container("memcached")].Args)
	if err != nil {
		return nil
	}
	state := &agentapi.State{
		Version: version(memcached.Image), Process: 1, Run: memcached.ContainerID, Started: memcached.State.Running.StartedAt.Time, Items: items,
		CacheMemory: arguments.CacheMemory, Warm: arguments.MemoryFile != "" && memcached.RestartCount > 0,
	}
	if memory, err := strconv.ParseInt(pod.Annotations[agentapi.CacheMemoryAnnotation], 10, 64); err == nil {
		state.CacheMemory = memory
	}
	if memcached.RestartCount > 0 {
		state.Before = items
	}
	if state.Warm {
		state.Restored = items
	}
	return state
}
