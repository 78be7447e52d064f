package rollout

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/kube/pods"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
)

// member is a pod that is wanted.
type member struct {
	pod     *corev1.Pod
	agent   *agentapi.State // Nil if the agent cannot be reached.
	update  *updateState    // Nil if the pod is not on its way to a revision.
	ordinal int32
}

func wantedPods(set *appsv1.StatefulSet) int32 { return ptr.Deref(set.Spec.Replicas, 1) }

// members returns the pods that are wanted and stay, the one with the highest number first.
func (s Input) members() []*member {
	var nodes []*member
	for i := range s.Pods {
		pod := &s.Pods[i]
		slot, numbered := pods.Ordinal(s.StatefulSet.Name, pod.Name)
		if !numbered || slot >= wantedPods(s.StatefulSet) || pods.Ending(pod) {
			continue
		}
		nodes = append(nodes, &member{pod: pod, ordinal: slot, agent: s.States[pod.Name], update: updateStateOf(pod)})
	}
	slices.SortFunc(nodes, func(a, b *member) int { return cmp.Compare(b.ordinal, a.ordinal) })
	return nodes
}

func (n *member) name() string     { return n.pod.Name }
func (n *member) revision() string { return n.pod.Labels[appsv1.ControllerRevisionHashLabelKey] }

// done tells whether the pod is of a revision, and not on its way to any.
func (n *member) done(revision string) bool { return n.revision() == revision && n.update == nil }

// updatingTo tells whether the pod is being brought to a revision.
func (n *member) updatingTo(revision string) bool {
	return n.update != nil && n.update.Revision == revision
}

func (n *member) ready() bool { return pods.Ready(n.pod) }

// container returns the status of a container or sidecar; its zero value if there is none.
func (n *member) container(name string) corev1.ContainerStatus {
	for _, status := range slices.Concat(n.pod.Status.ContainerStatuses, n.pod.Status.InitContainerStatuses) {
		if status.Name == name {
			return status
		}
	}
	return corev1.ContainerStatus{}
}

// empty tells whether memcached has never had a container in the pod, so that there can be no item. A kubelet that cannot read
// the state of one calls it waiting, but it has an ID.
func (n *member) empty() bool {
	memcached := n.container(pod.MemcachedContainer)
	return !n.ready() && memcached.ContainerID == "" && memcached.RestartCount == 0 && memcached.LastTerminationState.Terminated == nil
}

// memoryLimit returns what the kubelet says is memcached's memory limit, in bytes; 0 if it does not say it.
func (n *member) memoryLimit() int64 {
	memcached := n.container(pod.MemcachedContainer)
	if memcached.State.Running == nil || memcached.Resources == nil {
		return 0
	}
	return memcached.Resources.Limits.Memory().Value()
}

// askedMemoryLimit returns the memory limit of memcached in the pod's spec, in bytes.
func (n *member) askedMemoryLimit() int64 {
	memcached := pods.Container(n.pod.Spec.Containers, pod.MemcachedContainer)
	if memcached == nil {
		return 0
	}
	return memcached.Resources.Limits.Memory().Value()
}

// observed tells whether the status of the pod speaks of its newest spec, as far as the cluster tells that at all.
func (n *member) observed() bool {
	return n.pod.Status.ObservedGeneration == 0 || n.pod.Status.ObservedGeneration >= n.pod.Generation
}
