package controlplane

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
)

// fieldManager owns the fields that this program applies.
const fieldManager = "memcached-operator-cluster"

// Client applies and reads objects of any kind.
type Client struct {
	dynamic   dynamic.Interface
	discovery discovery.DiscoveryInterface
	mapper    *restmapper.DeferredDiscoveryRESTMapper
}

// NewClient reads the kubeconfig. It does not connect.
func NewClient(kubeconfig string) (*Client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", kubeconfig, err)
	}
	config.QPS, config.Burst = 200, 400
	config.WarningHandlerWithContext = nil
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return &Client{
		dynamic: objects, discovery: kinds,
		mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds)),
	}, nil
}

// Ready returns nil when the API server answers that it is ready.
func (c *Client) Ready(ctx context.Context) error {
	answer, err := c.discovery.RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	if err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(answer)))
	}
	return nil
}

// Apply sends one object by server-side apply, taking over whatever fields others own.
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
	var resource dynamic.ResourceInterface = c.dynamic.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		resource = c.dynamic.Resource(mapping.Resource).Namespace(object.GetNamespace())
	}
	_, err = resource.Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	if err != nil {
		return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

// Get reads one object; namespace is "" for objects of the cluster.
func (c *Client) Get(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
	return c.dynamic.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
}

// Until polls check until it returns nil. After timeout the error holds the last answer of check.
func Until(ctx context.Context, timeout time.Duration, check func(context.Context) error) error {
	const interval = 200 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	var last error
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil { // an answer cut off by the deadline says nothing
			last = err
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return context.Canceled
			}
			return fmt.Errorf("not within %s: %w", timeout, last)
		case <-ticker.C:
		}
	}
}

// IsNotFound tells whether err says that an object, or its kind, does not exist.
func IsNotFound(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }

// ConditionTrue returns nil when the object has the condition with status True.
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
