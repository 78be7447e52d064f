package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Write is a request with a body.
type Write struct {
	Method, Path, ContentType string
	Body                      []byte
}

// Templates are what has to be written for one custom resource. For another one, its namespace, name and UID, which are all as long,
// replace those of the template everywhere: in encoded objects too.
type Templates struct {
	Namespace, Name, UID string

	// Resource is the plural of the custom resource, and Group, Version and Kind are its own. Workload is the resource of what runs its pods.
	Resource, Group, Version, Kind, Workload string

	// Steps are what has to be written for each generation of the custom resource, from the first on.
	Steps []Step
}

// Step is what has to be written for one generation of a custom resource.
type Step struct {
	// Objects are written first.
	Objects []Write

	// Replicas is the number of pods that have to be ready then.
	Replicas int32

	// Status is written at the end. ResourceVersion stands in it for the resourceVersion of the custom resource.
	Status Write
}

// ResourceVersion is the placeholder in Step.Status.
const ResourceVersion = "RESOURCE-VERSION"

// Owned returns empty lists of the kinds of objects that the operator makes.
func Owned() []client.ObjectList {
	return []client.ObjectList{
		&corev1.ServiceList{}, &corev1.SecretList{}, &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}, &appsv1.ControllerRevisionList{},
		&networkingv1.NetworkPolicyList{}, &networkingv1.IngressList{}, &policyv1.PodDisruptionBudgetList{},
	}
}

// NewTemplates returns templates without steps.
func NewTemplates(scheme *runtime.Scheme, kind Kind, resource Resource) (*Templates, error) {
	gvk, err := apiutil.GVKForObject(resource, scheme)
	return &Templates{
		Namespace: resource.GetNamespace(), Name: resource.GetName(), UID: string(resource.GetUID()),
		Resource: kind.Resource, Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Workload: kind.Workload,
	}, err
}

// Read returns the objects that a custom resource owns.
func Read(ctx context.Context, reader client.Client, resource Resource) ([]client.Object, error) {
	var all []client.Object
	for _, list := range Owned() {
		if err := reader.List(ctx, list, client.InNamespace(resource.GetNamespace())); err != nil {
			return nil, err
		}
		err := meta.EachListItem(list, func(item runtime.Object) error {
			object, err := meta.Accessor(item)
			if err == nil && metav1.IsControlledBy(object, resource) {
				all = append(all, item.(client.Object))
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("the operator has made nothing for %s", client.ObjectKeyFromObject(resource))
	}
	return all, nil
}

// Learn adds the step that brings a resource from the objects that it owned before to those that it owns now.
func (t *Templates) Learn(reader client.Client, resource Resource, before, now []client.Object, replicas int32) (err error) {
	step := Step{Replicas: replicas}
	encoder := protobuf.NewSerializer(reader.Scheme(), reader.Scheme())
	for _, object := range now {
		var write *Write
		index := slices.IndexFunc(before, func(o client.Object) bool { return o.GetUID() == object.GetUID() })
		if index < 0 {
			write, err = creation(reader, encoder, object)
		} else {
			write, err = change(reader, before[index], object)
		}
		if err != nil {
			return err
		}
		if write != nil {
			step.Objects = append(step.Objects, *write)
		}
	}
	step.Status, err = t.status(resource)
	t.Steps = append(t.Steps, step)
	return err
}

// creation returns the request that creates an object anew.
func creation(reader client.Client, encoder runtime.Encoder, object client.Object) (*Write, error) {
	path, err := pathOf(reader, object)
	if err != nil {
		return nil, err
	}
	fresh := object.DeepCopyObject().(client.Object)
	clean(fresh)
	body, err := runtime.Encode(encoder, fresh)
	return &Write{Method: http.MethodPost, Path: path, ContentType: runtime.ContentTypeProtobuf, Body: body}, err
}

// change returns the request that makes one object of another, nil if there is no difference.
func change(reader client.Client, before, now client.Object) (*Write, error) {
	path, err := pathOf(reader, now)
	if err != nil {
		return nil, err
	}
	var versions [2][]byte
	for i, object := range []client.Object{before, now} {
		fresh := object.DeepCopyObject().(client.Object)
		clean(fresh)
		fresh.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		if versions[i], err = json.Marshal(fresh); err != nil {
			return nil, err
		}
	}
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(versions[0], versions[1], versions[0])
	if err != nil || string(patch) == "{}" {
		return nil, err
	}
	return &Write{Method: http.MethodPatch, Path: path + "/" + now.GetName(), ContentType: string(types.MergePatchType), Body: patch}, nil
}

// pathOf returns the path of the collection of an object, and gives the object its kind.
func pathOf(reader client.Client, object client.Object) (string, error) {
	gvk, err := apiutil.GVKForObject(object, reader.Scheme())
	if err != nil {
		return "", err
	}
	mapping, err := reader.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return "", err
	}
	object.GetObjectKind().SetGroupVersionKind(gvk)
	root := "/apis/" + gvk.Group
	if gvk.Group == "" {
		root = "/api"
	}
	return fmt.Sprintf("%s/%s/namespaces/%s/%s", root, gvk.Version, object.GetNamespace(), mapping.Resource.Resource), nil
}

// clean takes away what the API server and Kubernetes' controllers have added.
func clean(object client.Object) {
	object.SetUID("")
	object.SetResourceVersion("")
	object.SetCreationTimestamp(metav1.Time{})
	object.SetGeneration(0)
	object.SetManagedFields(nil)
	switch typed := object.(type) {
	case *corev1.Service:
		if typed.Spec.ClusterIP != corev1.ClusterIPNone {
			typed.Spec.ClusterIP, typed.Spec.ClusterIPs = "", nil
		}
	case *appsv1.Deployment:
		typed.Status = appsv1.DeploymentStatus{}
	case *appsv1.StatefulSet:
		typed.Status = appsv1.StatefulSetStatus{}
	case *policyv1.PodDisruptionBudget:
		typed.Status = policyv1.PodDisruptionBudgetStatus{}
	}
}

// status returns the request that writes the status which the resource has.
func (t *Templates) status(resource Resource) (Write, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(resource)
	if err != nil {
		return Write{}, err
	}
	content["apiVersion"], content["kind"] = t.Group+"/"+t.Version, t.Kind
	content["metadata"] = map[string]any{"namespace": t.Namespace, "name": t.Name, "resourceVersion": ResourceVersion}
	body, err := json.Marshal(content)
	path := fmt.Sprintf("/apis/%s/%s/namespaces/%s/%s/%s/status", t.Group, t.Version, t.Namespace, t.Resource, t.Name)
	return Write{Method: http.MethodPut, Path: path, ContentType: runtime.ContentTypeJSON, Body: body}, err
}

// For returns a write for another custom resource.
func (w Write) For(t *Templates, namespace, name, uid, resourceVersion string) Write {
	replace := strings.NewReplacer(t.Namespace, namespace, t.Name, name, t.UID, uid, ResourceVersion, resourceVersion)
	return Write{Method: w.Method, Path: replace.Replace(w.Path), ContentType: w.ContentType, Body: []byte(replace.Replace(string(w.Body)))}
}
