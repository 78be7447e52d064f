package controlplane

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
)

// fieldManager owns the fields that this program applies.
const fieldManager = "memcached-operator-cluster"

// Client reads and applies objects of any kind.
type Client struct {
	dynamic dynamic.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper
}

// NewClient reads the kubeconfig. It does not connect.
func NewClient(kubeconfig string) (*Client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", kubeconfig, err)
	}
	config.QPS, config.Burst = 200, 400
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return &Client{dynamic: objects, mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds))}, nil
}

// Apply applies one object on the server, and takes over fields that other managers own.
func (c *Client) Apply(ctx context.Context, object *unstructured.Unstructured) error {
	kind := object.GroupVersionKind()
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		c.mapper.Reset()
		mapping, err = c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	}
	if err != nil {
		return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	namespace := ""
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		namespace = object.GetNamespace()
	}
	_, err = c.dynamic.Resource(mapping.Resource).Namespace(namespace).
		Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	if err != nil {
		return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

// Get reads one object. The namespace of a cluster-scoped object is "".
func (c *Client) Get(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
	return c.dynamic.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
}

// Until polls check until it returns nil. After timeout it returns the last error of check.
func Until(ctx context.Context, timeout time.Duration, check func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, timeout, true, func(ctx context.Context) (bool, error) {
		err := check(ctx)
		if last == nil || ctx.Err() == nil { // otherwise the timeout caused the error
			last = err
		}
		return err == nil, nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("not within %s: %w", timeout, last)
	}
	return err
}

// ConditionTrue returns nil when the condition of the object has the status True.
func ConditionTrue(object *unstructured.Unstructured, condition string) error {
	list, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	if err != nil {
		return fmt.Errorf("read the conditions of %s: %w", object.GetName(), err)
	}
	for _, item := range list {
		fields, ok := item.(map[string]any)
		if !ok || fields["type"] != condition {
			continue
		}
		if fields["status"] == "True" {
			return nil
		}
		return fmt.Errorf("%s %s: %s is %v: %v", object.GetKind(), object.GetName(), condition, fields["status"], fields["message"])
	}
	return fmt.Errorf("%s %s has no condition %s yet", object.GetKind(), object.GetName(), condition)
}
