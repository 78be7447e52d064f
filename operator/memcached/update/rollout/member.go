package rollout

import (
	"cmp"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/kube/pods"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
)

// member is a pod of the StatefulSet that is wanted.
type member struct {
	pod     *corev1.Pod
	agent   *agentapi.State // Nil if the agent cannot be reached.
	update  *updateState    // Nil if the pod is not being updated.
	ordinal int32
}

func wantedPods(set *appsv1.StatefulSet) int32 { return ptr.Deref(set.Spec.Replicas, 1) }

// members returns the wanted pods that do not terminate, the one with the highest ordinal first.
func (i Input) members() []*member {
	var members []*member
	for at := range i.Pods {
		pod := &i.Pods[at]
		ordinal, found := pods.Ordinal(i.StatefulSet.Name, pod.Name)
		if !found || ordinal >= wantedPods(i.StatefulSet) || pods.Ending(pod) {
			continue
		}
		members = append(members, &member{pod: pod, ordinal: ordinal, agent: i.States[pod.Name], update: updateStateOf(pod)})
	}
	slices.SortFunc(members, func(a, b *member) int { return cmp.Compare(b.ordinal, a.ordinal) })
	return members
}

func (m *member) name() string     { return m.pod.Name }
func (m *member) revision() string { return m.pod.Labels[appsv1.ControllerRevisionHashLabelKey] }
func (m *member) ready() bool      { return pods.Ready(m.pod) }

// upToDate reports whether the pod has a revision, and is not being updated to any.
func (m *member) upToDate(revision string) bool { return m.revision() == revision && m.update == nil }

// updatingTo reports whether the pod is being updated to a revision.
func (m *member) updatingTo(revision string) bool {
	return m.update != nil && m.update.Revision == revision
}

// givenRevision returns the revision that gave the pod its images, labels and annotations, empty if it is unknown.
func (m *member) givenRevision() string {
	switch {
	case m.update == nil:
		return m.revision()
	case m.update.Patched:
		return m.update.Revision
	}
	return m.update.Given
}

// imageRevision returns the revision that gave a container of the pod its image, empty if it is unknown. The agent may have got its
// image before all others.
func (m *member) imageRevision(container string) string {
	if container == agentapi.AgentContainer && m.update != nil && !m.update.Patched && m.update.AgentOf != "" {
		return m.update.AgentOf
	}
	return m.givenRevision()
}

// resourceRevisions returns the revisions one of which gave the pod its CPU and memory. The step that resizes a pod cannot note
// that in the update state, so every revision that the pod was being updated to is one of them. An update state that cannot be
// read has the empty revision, which does not exist.
func (m *member) resourceRevisions() []string {
	switch {
	case m.update == nil:
		return []string{m.revision()}
	case slices.Contains(m.update.ResourcesOf, m.update.Revision):
		return m.update.ResourcesOf
	}
	return append(slices.Clone(m.update.ResourcesOf), m.update.Revision)
}

// unfinishedRestarts returns the containers that were asked to restart and have no successor yet, sorted.
func (m *member) unfinishedRestarts() []string {
	if m.update == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(m.update.Restarts)), func(name string) bool {
		return m.container(name).ContainerID != m.update.Restarts[name]
	})
}

// awaitedRestart returns a container that was asked to restart and still runs, empty if there is none. A container that has ended
// is not waited for: its successor will have the image that the pod has then.
func (m *member) awaitedRestart() string {
	for _, name := range m.unfinishedRestarts() {
		if m.container(name).State.Running != nil {
			return name
		}
	}
	return ""
}

// container returns the status of a container or sidecar, the zero value if there is none.
func (m *member) container(name string) corev1.ContainerStatus {
	for _, status := range slices.Concat(m.pod.Status.ContainerStatuses, m.pod.Status.InitContainerStatuses) {
		if status.Name == name {
			return status
		}
	}
	return corev1.ContainerStatus{}
}

// empty reports whether memcached has never had a container in the pod, so that there can be no items. If the kubelet cannot read
// the state of a container, it reports the container as waiting, but with its ID.
func (m *member) empty() bool {
	memcached := m.container(pod.MemcachedContainer)
	return !m.ready() && memcached.ContainerID == "" && memcached.RestartCount == 0 && memcached.LastTerminationState.Terminated == nil
}

// memoryLimit returns memcached's memory limit as the kubelet reports it, in bytes; 0 if the kubelet does not.
func (m *member) memoryLimit() int64 {
	memcached := m.container(pod.MemcachedContainer)
	if memcached.State.Running == nil || memcached.Resources == nil {
		return 0
	}
	return memcached.Resources.Limits.Memory().Value()
}

// observed reports whether the status of the pod belongs to its newest spec. Clusters that do not report that always count as up
// to date.
func (m *member) observed() bool {
	return m.pod.Status.ObservedGeneration == 0 || m.pod.Status.ObservedGeneration >= m.pod.Generation
}
