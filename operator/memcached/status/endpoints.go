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

// Runtime is what is known of the nodes beyond their pods.
type Runtime struct {
	// States are what their agents say, by the name of the pod.
	States map[string]*agentapi.State

	// Progress is how far the operator is with bringing them to their template, nil if it does not.
	Progress *workload.Progress
}

// endpoints returns the nodes as clients reach them, in the order of their slots.
func endpoints(in inputs.Inputs, seen Runtime, pass conditions.Reconcile) []v1alpha1.MemcachedEndpoint {
	var endpoints []v1alpha1.MemcachedEndpoint
	all := slices.Clone(pass.Observed.Pods)
	slices.SortStableFunc(all, bySlot)
	for i := range all {
		if !pods.Ending(&all[i]) {
			endpoints = append(endpoints, endpoint(in, seen, &all[i]))
		}
	}
	return endpoints
}

// bySlot sorts the pods of a StatefulSet by number, behind all others.
func bySlot(a, b corev1.Pod) int { return cmp.Compare(slot(&a), slot(&b)) }

// slot returns the number of a pod of a StatefulSet, -1 for others.
func slot(pod *corev1.Pod) int32 {
	if inStatefulSet(pod) {
		if slot, numbered := pods.Ordinal(metav1.GetControllerOf(pod).Name, pod.Name); numbered {
			return slot
		}
	}
	return -1
}

func inStatefulSet(pod *corev1.Pod) bool {
	controller := metav1.GetControllerOf(pod)
	return controller != nil && controller.Kind == "StatefulSet"
}

func endpoint(in inputs.Inputs, seen Runtime, node *corev1.Pod) v1alpha1.MemcachedEndpoint {
	endpoint := v1alpha1.MemcachedEndpoint{Pod: node.Name, IP: node.Status.PodIP, Port: args.Port, Ready: pods.Ready(node)}
	if inStatefulSet(node) {
		endpoint.Host = node.Name + "." + desired.Host(in.Memcached.Namespace, in.Memcached.Name)
	}
	if memcached := pods.Container(node.Spec.Containers, pod.MemcachedContainer); memcached != nil {
		endpoint.Version = cmp.Or(node.Annotations[pod.VersionAnnotation], in.Images.VersionOf(memcached.Image))
	}
	start(&endpoint, in, node, seen.States[node.Name])
	return endpoint
}

// start says when memcached last started, and with which items. Only with a memory file it can begin with those of before,
// and only its agent can tell: as long as that does not answer, what it said of the same start holds.
func start(endpoint *v1alpha1.MemcachedEndpoint, in inputs.Inputs, node *corev1.Pod, said *agentapi.State) {
	for i := range node.Status.ContainerStatuses {
		container := &node.Status.ContainerStatuses[i]
		if container.Name == pod.MemcachedContainer && container.State.Running != nil {
			endpoint.Since = container.State.Running.StartedAt.DeepCopy()
		}
	}
	switch {
	case endpoint.Since == nil:
	case !keepsItems(node):
		endpoint.Items = v1alpha1.ItemsCold
	case said != nil:
		endpoint.Items = v1alpha1.ItemsCold
		if said.Warm {
			endpoint.Items = v1alpha1.ItemsWarm
		}
	default:
		for _, before := range in.Memcached.Status.Endpoints {
			if before.Pod == endpoint.Pod && before.Since != nil && before.Since.Equal(endpoint.Since) {
				endpoint.Items = before.Items
			}
		}
	}
}

// keepsItems tells whether a pod has the volume for items of a warm restart.
func keepsItems(node *corev1.Pod) bool {
	return slices.ContainsFunc(node.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == pod.CacheVolume })
}
