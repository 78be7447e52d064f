package rollout

import (
	agentapi "github.com/example/memcached-operator/operator/agent/api"

	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/operator/kube/pods"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
)

// node is a pod that is wanted.
type node struct {
	pod   *corev1.Pod
	state *agentapi.State // Nil if the agent cannot be reached.
	mark  *mark           // Nil if the pod is not on its way to a revision.
	slot  int32
}

func wantedNodes(set *appsv1.StatefulSet) int32 { return ptr.Deref(set.Spec.Replicas, 1) }

// nodes returns the pods that are wanted and stay, the one with the highest number first.
func (s Input) nodes() []*node {
	var nodes []*node
	for i := range s.Pods {
		pod := &s.Pods[i]
		slot, numbered := pods.Slot(s.StatefulSet.Name, pod.Name)
		if !numbered || slot >= wantedNodes(s.StatefulSet) || pods.Leaves(pod) {
			continue
		}
		nodes = append(nodes, &node{pod: pod, slot: slot, state: s.States[pod.Name], mark: markOf(pod)})
	}
	slices.SortFunc(nodes, func(a, b *node) int { return cmp.Compare(b.slot, a.slot) })
	return nodes
}

func (n *node) name() string     { return n.pod.Name }
func (n *node) revision() string { return n.pod.Labels[appsv1.ControllerRevisionHashLabelKey] }

// done tells whether the pod is of a revision, and not on its way to any.
func (n *node) done(revision string) bool { return n.revision() == revision && n.mark == nil }

// onTheWay tells whether the pod is being brought to a revision.
func (n *node) onTheWay(revision string) bool { return n.mark != nil && n.mark.Revision == revision }

func (n *node) ready() bool { return pods.Ready(n.pod) }

// container returns the status of a container or sidecar; its zero value if there is none.
func (n *node) container(name string) corev1.ContainerStatus {
	for _, status := range slices.Concat(n.pod.Status.ContainerStatuses, n.pod.Status.InitContainerStatuses) {
		if status.Name == name {
			return status
		}
	}
	return corev1.ContainerStatus{}
}

// empty tells whether memcached has never had a container in the pod, so that there can be no item. A kubelet that cannot read
// the state of one calls it waiting, but it has an ID.
func (n *node) empty() bool {
	memcached := n.container(pod.MemcachedContainer)
	return !n.ready() && memcached.ContainerID == "" && memcached.RestartCount == 0 && memcached.LastTerminationState.Terminated == nil
}

// memoryLimit returns what the kubelet says is memcached's memory limit, in bytes; 0 if it does not say it.
func (n *node) memoryLimit() int64 {
	memcached := n.container(pod.MemcachedContainer)
	if memcached.State.Running == nil || memcached.Resources == nil {
		return 0
	}
	return memcached.Resources.Limits.Memory().Value()
}

// askedMemoryLimit returns the memory limit of memcached in the pod's spec, in bytes.
func (n *node) askedMemoryLimit() int64 {
	memcached := pods.Container(n.pod.Spec.Containers, pod.MemcachedContainer)
	if memcached == nil {
		return 0
	}
	return memcached.Resources.Limits.Memory().Value()
}

// seen tells whether the status of the pod speaks of its newest spec, as far as the cluster tells that at all.
func (n *node) seen() bool {
	return n.pod.Status.ObservedGeneration == 0 || n.pod.Status.ObservedGeneration >= n.pod.Generation
}
