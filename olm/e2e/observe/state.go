package observe

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// managed selects what the operator has made, in every version.
var managed = client.MatchingLabels{"app.kubernetes.io/managed-by": "memcached-operator"}

// Pod is a pod that the operator has brought about.
type Pod struct {
	Name string
	// Restarts counts those of all its containers.
	Restarts int32
}

// State is what there was at one time.
type State struct {
	// Pods are those that were not ending.
	Pods map[types.UID]Pod
	// Resources are those of users, by kind, namespace and name, in JSON: all that users say in them.
	Resources map[string]string
	// Templates are the pod templates of Deployments in JSON, by namespace and name.
	Templates map[string]string
}

// Take reads the state of everything that the operator looks after. The kinds are those of the users' resources.
func Take(ctx context.Context, c client.Client, kinds []schema.GroupVersionKind) (*State, error) {
	s := &State{Pods: map[types.UID]Pod{}, Resources: map[string]string{}, Templates: map[string]string{}}
	var pods corev1.PodList
	if err := c.List(ctx, &pods, managed); err != nil {
		return nil, fmt.Errorf("list the pods: %w", err)
	}
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp == nil {
			s.Pods[pod.UID] = Pod{Name: pod.Namespace + "/" + pod.Name, Restarts: restarts(pod)}
		}
	}
	var deployments appsv1.DeploymentList
	if err := c.List(ctx, &deployments, managed); err != nil {
		return nil, fmt.Errorf("list the Deployments: %w", err)
	}
	for _, deployment := range deployments.Items {
		template, err := json.Marshal(deployment.Spec.Template)
		if err != nil {
			return nil, fmt.Errorf("encode a pod template: %w", err)
		}
		s.Templates[deployment.Namespace+"/"+deployment.Name] = string(template)
	}
	for _, kind := range kinds {
		var resources unstructured.UnstructuredList
		resources.SetGroupVersionKind(kind)
		if err := c.List(ctx, &resources); err != nil {
			return nil, fmt.Errorf("list the resources of kind %s: %w", kind.Kind, err)
		}
		for _, resource := range resources.Items {
			content, err := said(resource)
			if err != nil {
				return nil, err
			}
			s.Resources[kind.Kind+" "+resource.GetNamespace()+"/"+resource.GetName()] = content
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

// said is a resource without its status, and without what the API server keeps for itself.
func said(resource unstructured.Unstructured) (string, error) {
	object := resource.DeepCopy()
	unstructured.RemoveNestedField(object.Object, "status")
	object.SetManagedFields(nil)
	object.SetResourceVersion("")
	content, err := json.Marshal(object)
	if err != nil {
		return "", fmt.Errorf("encode %s %s: %w", resource.GetKind(), resource.GetName(), err)
	}
	return string(content), nil
}

// Changes are what was another afterwards, each by name and sorted.
type Changes struct {
	// Gone and New are pods.
	Gone, New []string
	// Restarts counts the container restarts of the pods that were there before and after.
	Restarts int
	// Resources and Templates have changed, or are gone, or were not there before.
	Resources, Templates []string
}

// Recreated is how many pods were replaced, ended or added.
func (c Changes) Recreated() int { return max(len(c.Gone), len(c.New)) }

// Compare finds what differs from a later state.
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

func differing(before, after map[string]string) []string {
	names := maps.Clone(before)
	maps.Copy(names, after)
	var found []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if before[name] != after[name] {
			found = append(found, name)
		}
	}
	return found
}
