package status

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/conditions"
	"github.com/example/memcached-operator/operator/kube/pods"
	"github.com/example/memcached-operator/operator/kube/workload"
	"github.com/example/memcached-operator/operator/memcached/args"
	"github.com/example/memcached-operator/operator/memcached/desired"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// Runtime is what is known of the pods besides the objects.
type Runtime struct {
	// States are what the agents report, by the name of the pod.
	States map[string]*agentapi.State

	// Progress is how far the operator has updated the pods of a StatefulSet, nil if it does not update them.
	Progress *workload.Progress
}

// endpoints returns the addresses at which clients reach the pods, in the order of their ordinals.
func endpoints(in inputs.Inputs, seen Runtime, reconcile conditions.Reconcile) []v1alpha1.MemcachedEndpoint {
	var endpoints []v1alpha1.MemcachedEndpoint
	all := slices.Clone(reconcile.Observed.Pods)
	slices.SortStableFunc(all, byOrdinal)
	for i := range all {
		if !pods.Ending(&all[i]) {
			endpoints = append(endpoints, endpoint(in, seen, &all[i]))
		}
	}
	return endpoints
}

// byOrdinal sorts the pods of a StatefulSet by ordinal, after all others.
func byOrdinal(a, b corev1.Pod) int { return cmp.Compare(ordinal(&a), ordinal(&b)) }

// ordinal returns the ordinal of a pod of a StatefulSet, -1 for other pods.
func ordinal(pod *corev1.Pod) int32 {
	if inStatefulSet(pod) {
		if ordinal, found := pods.Ordinal(metav1.GetControllerOf(pod).Name, pod.Name); found {
			return ordinal
		}
	}
	return -1
}

func inStatefulSet(pod *corev1.Pod) bool {
	controller := metav1.GetControllerOf(pod)
	return controller != nil && controller.Kind == "StatefulSet"
}

func endpoint(in inputs.Inputs, seen Runtime, source *corev1.Pod) v1alpha1.MemcachedEndpoint {
	endpoint := v1alpha1.MemcachedEndpoint{Pod: source.Name, IP: source.Status.PodIP, Port: args.Port, Ready: pods.Ready(source)}
	if inStatefulSet(source) {
		endpoint.Host = source.Name + "." + desired.Host(in.Memcached.Namespace, in.Memcached.Name)
	}
	if memcached := pods.Container(source.Spec.Containers, pod.MemcachedContainer); memcached != nil {
		endpoint.Version = in.VersionOf(memcached.Image, source.Annotations[pod.VersionAnnotation])
	}
	setStart(&endpoint, in, source, seen.States[source.Name])
	return endpoint
}

// setStart sets when memcached last started, and whether it found its items. It can find them only with a memory file, and only its
// agent can report that. While the agent cannot be reached, its earlier report about the same start holds.
func setStart(endpoint *v1alpha1.MemcachedEndpoint, in inputs.Inputs, source *corev1.Pod, state *agentapi.State) {
	for i := range source.Status.ContainerStatuses {
		container := &source.Status.ContainerStatuses[i]
		if container.Name == pod.MemcachedContainer && container.State.Running != nil {
			endpoint.Since = container.State.Running.StartedAt.DeepCopy()
		}
	}
	switch {
	case endpoint.Since == nil:
	case !keepsItems(source):
		endpoint.Items = v1alpha1.ItemsCold
	case state != nil:
		endpoint.Items = v1alpha1.ItemsCold
		if state.Warm {
			endpoint.Items = v1alpha1.ItemsWarm
		}
	default:
		for _, before := range in.Memcached.Status.Endpoints {
			if before.Pod == endpoint.Pod && before.Since.Equal(endpoint.Since) {
				endpoint.Items = before.Items
			}
		}
	}
}

// keepsItems reports whether a pod has the volume for the items of a warm restart.
func keepsItems(source *corev1.Pod) bool {
	return slices.ContainsFunc(source.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == pod.CacheVolume })
}
