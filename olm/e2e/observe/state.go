package observe

import (
	"context"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// managed selects the objects that the operator, in every version, creates.
var managed = client.MatchingLabels{"app.kubernetes.io/managed-by": "memcached-operator"}

// Pod is a pod of a cache or an application.
type Pod struct {
	Name string
	// Restarts is the number of restarts of all containers.
	Restarts int32
}

// State has what existed at one time.
type State struct {
	// Pods are the pods that were not being deleted.
	Pods map[types.UID]Pod
	// Resources are the users' resources by kind, namespace and name, without what the operator and the API server write.
	Resources map[string]map[string]any
	// Templates are the pod templates of Deployments by namespace and name.
	Templates map[string]corev1.PodTemplateSpec
}

// Take reads the state of everything that the operator manages in a namespace, in all of them if it is empty. The kinds are those of the
// users' resources.
func Take(ctx context.Context, c client.Client, namespace string, kinds []schema.GroupVersionKind) (*State, error) {
	s := &State{Pods: map[types.UID]Pod{}, Resources: map[string]map[string]any{}, Templates: map[string]corev1.PodTemplateSpec{}}
	var pods corev1.PodList
	if err := c.List(ctx, &pods, managed, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list the pods: %w", err)
	}
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp == nil {
			s.Pods[pod.UID] = Pod{Name: pod.Namespace + "/" + pod.Name, Restarts: restarts(pod)}
		}
	}
	var deployments appsv1.DeploymentList
	if err := c.List(ctx, &deployments, managed, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list the Deployments: %w", err)
	}
	for _, deployment := range deployments.Items {
		s.Templates[deployment.Namespace+"/"+deployment.Name] = deployment.Spec.Template
	}
	for _, kind := range kinds {
		var resources unstructured.UnstructuredList
		resources.SetGroupVersionKind(kind)
		if err := c.List(ctx, &resources, client.InNamespace(namespace)); err != nil {
			return nil, fmt.Errorf("list the resources of kind %s: %w", kind.Kind, err)
		}
		for _, resource := range resources.Items {
			delete(resource.Object, "status")
			resource.SetManagedFields(nil)
			resource.SetResourceVersion("")
			s.Resources[kind.Kind+" "+resource.GetNamespace()+"/"+resource.GetName()] = resource.Object
		}
	}
	return s, nil
}

func restarts(pod corev1.Pod) int32 {
	var sum int32
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		sum += status.RestartCount
	}
	return sum
}

// Changes are the differences between two states, each by name and sorted.
type Changes struct {
	// Gone and New are pods that exist only in the earlier or only in the later state.
	Gone, New []string
	// Restarts is the number of container restarts of the other pods.
	Restarts int
	// Resources and Templates differ, or exist in one state only.
	Resources, Templates []string
}

// Recreated returns how many pods were replaced, deleted or added.
func (c Changes) Recreated() int { return max(len(c.Gone), len(c.New)) }

// Compare returns what differs in a later state.
func (s *State) Compare(later *State) Changes {
	var changes Changes
	for uid, pod := range s.Pods {
		if after, there := later.Pods[uid]; there {
			changes.Restarts += int(after.Restarts - pod.Restarts)
		} else {
			changes.Gone = append(changes.Gone, pod.Name)
		}
	}
	for uid, pod := range later.Pods {
		if _, there := s.Pods[uid]; !there {
			changes.New = append(changes.New, pod.Name)
		}
	}
	slices.Sort(changes.Gone)
	slices.Sort(changes.New)
	changes.Resources = differing(s.Resources, later.Resources)
	changes.Templates = differing(s.Templates, later.Templates)
	return changes
}

func differing[V any](before, after map[string]V) []string {
	names := maps.Clone(before)
	maps.Copy(names, after)
	var found []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !equality.Semantic.DeepEqual(before[name], after[name]) {
			found = append(found, name)
		}
	}
	return found
}
