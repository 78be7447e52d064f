package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
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

	// Resource is the plural of the custom resource, and Group and Version are its own. Workload is the resource of what runs its pods.
	Resource, Group, Version, Kind, Workload string

	// Objects are created first.
	Objects []Write

	// Status is written when the pods are ready. ResourceVersion stands in it for the resourceVersion of the custom resource.
	Status Write
}

// ResourceVersion is the placeholder in Templates.Status.
const ResourceVersion = "RESOURCE-VERSION"

// Owned returns empty lists of the kinds of objects that the operator makes.
func Owned() []client.ObjectList {
	return []client.ObjectList{
		&corev1.ServiceList{}, &corev1.SecretList{}, &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}, &appsv1.ControllerRevisionList{},
		&networkingv1.NetworkPolicyList{}, &networkingv1.IngressList{}, &policyv1.PodDisruptionBudgetList{},
	}
}

// Learn reads what the operator has written for a custom resource.
func Learn(ctx context.Context, reader client.Client, kind Kind, resource Resource) (*Templates, error) {
	gvk, err := apiutil.GVKForObject(resource, reader.Scheme())
	if err != nil {
		return nil, err
	}
	t := &Templates{
		Namespace: resource.GetNamespace(), Name: resource.GetName(), UID: string(resource.GetUID()),
		Resource: kind.Resource, Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Workload: kind.Workload,
	}
	encoder := protobuf.NewSerializer(reader.Scheme(), reader.Scheme())
	for _, list := range Owned() {
		if err := reader.List(ctx, list, client.InNamespace(resource.GetNamespace())); err != nil {
			return nil, err
		}
		err := meta.EachListItem(list, func(item runtime.Object) error {
			object := item.(client.Object)
			if !metav1.IsControlledBy(object, resource) {
				return nil
			}
			write, err := creation(reader, encoder, object)
			t.Objects = append(t.Objects, write)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(t.Objects) == 0 {
		return nil, fmt.Errorf("the operator has made nothing for %s", client.ObjectKeyFromObject(resource))
	}
	t.Status, err = status(resource, t)
	return t, err
}

// creation returns the request that creates an object anew.
func creation(reader client.Client, encoder runtime.Encoder, object client.Object) (Write, error) {
	gvk, err := apiutil.GVKForObject(object, reader.Scheme())
	if err != nil {
		return Write{}, err
	}
	mapping, err := reader.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return Write{}, err
	}
	object.GetObjectKind().SetGroupVersionKind(gvk)
	clean(object)
	body, err := runtime.Encode(encoder, object)
	if err != nil {
		return Write{}, err
	}
	root := "/apis/" + gvk.Group
	if gvk.Group == "" {
		root = "/api"
	}
	path := fmt.Sprintf("%s/%s/namespaces/%s/%s", root, gvk.Version, object.GetNamespace(), mapping.Resource.Resource)
	return Write{Method: "POST", Path: path, ContentType: runtime.ContentTypeProtobuf, Body: body}, nil
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
func status(resource Resource, t *Templates) (Write, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(resource)
	if err != nil {
		return Write{}, err
	}
	content["apiVersion"], content["kind"] = t.Group+"/"+t.Version, t.Kind
	content["metadata"] = map[string]any{"namespace": t.Namespace, "name": t.Name, "resourceVersion": ResourceVersion}
	body, err := json.Marshal(content)
	path := fmt.Sprintf("/apis/%s/%s/namespaces/%s/%s/%s/status", t.Group, t.Version, t.Namespace, t.Resource, t.Name)
	return Write{Method: "PUT", Path: path, ContentType: runtime.ContentTypeJSON, Body: body}, err
}

// For returns a write for another custom resource.
func (w Write) For(t *Templates, namespace, name, uid, resourceVersion string) Write {
	replace := strings.NewReplacer(t.Namespace, namespace, t.Name, name, t.UID, uid, ResourceVersion, resourceVersion)
	return Write{Method: w.Method, Path: replace.Replace(w.Path), ContentType: w.ContentType, Body: []byte(replace.Replace(string(w.Body)))}
}
