// Package bare is the client that the operator is measured against: for a custom resource it creates the objects that the operator would
// own, waits until their pods are ready, and writes the status once. It knows what to write because it was shown what the operator wrote.
// It sends encoded objects and decodes no answers, so that what it reaches is the limit of the API server.
package bare

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/hack/bench/workload"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/watch"
)

// Client is a bare client. Its exported methods can be called by a parent process.
type Client struct {
	ctx       context.Context
	http      *http.Client
	host      string
	cache     cache.Cache
	templates atomic.Pointer[workload.Templates]
	queue     workqueue.TypedInterface[types.NamespacedName]

	lock    sync.Mutex
	owners  map[types.NamespacedName]*owner
	failure error
}

// owner is how far a custom resource is.
type owner struct {
	uid, resourceVersion string
	generation           int64
	// written and announced are the generations whose objects and status have been written.
	written, announced int64
	// ready is how many pods its workload has, if all of them are ready.
	ready int32
}

// New returns a client for the API server. Nothing is started.
func New(ctx context.Context, config *rest.Config) (*Client, error) {
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	all, err := cache.New(config, cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject:         map[client.Object]cache.ByObject{&appsv1.Deployment{}: selected(), &appsv1.StatefulSet{}: selected()},
	})
	return &Client{
		ctx: ctx, http: transport, host: config.Host, cache: all,
		queue: workqueue.NewTyped[types.NamespacedName](), owners: map[types.NamespacedName]*owner{},
	}, err
}

func selected() cache.ByObject {
	return cache.ByObject{Label: labels.SelectorFromSet(labels.Set{owned.LabelManagedBy: owned.Manager})}
}

// Run works until ctx, which is that of New or one derived from it, ends.
func (c *Client) Run(ctx context.Context) error {
	for range watch.Concurrency {
		go c.work()
	}
	defer c.queue.ShutDown()
	return c.cache.Start(ctx)
}

// Learn tells what to write, and returns when the client works.
func (c *Client) Learn(templates *workload.Templates, _ *struct{}) error {
	c.templates.Store(templates)
	owners := &metav1.PartialObjectMetadata{}
	owners.SetGroupVersionKind(schema.GroupVersionKind{Group: templates.Group, Version: templates.Version, Kind: templates.Kind})
	var runs client.Object = &appsv1.Deployment{}
	if templates.Workload == "statefulsets" {
		runs = &appsv1.StatefulSet{}
	}
	for object, handler := range map[client.Object]toolscache.ResourceEventHandler{
		owners: toolscache.ResourceEventHandlerFuncs{
			AddFunc: c.ownerChanged, UpdateFunc: func(_, now any) { c.ownerChanged(now) }, DeleteFunc: c.ownerDeleted,
		},
		runs: toolscache.ResourceEventHandlerFuncs{UpdateFunc: func(_, now any) { c.workloadChanged(now) }},
	} {
		informer, err := c.cache.GetInformer(c.ctx, object)
		if err == nil {
			_, err = informer.AddEventHandler(handler)
		}
		if err != nil {
			return err
		}
	}
	if !c.cache.WaitForCacheSync(c.ctx) {
		return fmt.Errorf("the caches are not filled: %w", c.ctx.Err())
	}
	return nil
}

// Failure returns the first error of a write, which spoils the measurement.
func (c *Client) Failure(_ struct{}, message *string) error {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.failure != nil {
		*message = c.failure.Error()
	}
	return nil
}

func (c *Client) ownerChanged(object any) {
	meta := object.(*metav1.PartialObjectMetadata)
	key := client.ObjectKeyFromObject(meta)
	c.lock.Lock()
	defer c.lock.Unlock()
	found := c.owners[key]
	if found == nil {
		found = &owner{uid: string(meta.UID)}
		c.owners[key] = found
	}
	found.resourceVersion = meta.ResourceVersion
	if found.generation < meta.Generation {
		found.generation = meta.Generation
		c.queue.Add(key)
	}
}

func (c *Client) ownerDeleted(object any) {
	if meta, ok := object.(*metav1.PartialObjectMetadata); ok {
		c.lock.Lock()
		defer c.lock.Unlock()
		delete(c.owners, client.ObjectKeyFromObject(meta))
	}
}

func (c *Client) workloadChanged(object any) {
	ready := complete(object)
	meta := object.(client.Object)
	key := types.NamespacedName{Namespace: meta.GetNamespace(), Name: meta.GetLabels()[owned.LabelInstance]}
	c.lock.Lock()
	defer c.lock.Unlock()
	if owner := c.owners[key]; owner != nil && ready != owner.ready {
		owner.ready = ready
		c.queue.Add(key)
	}
}

// complete returns the number of pods of a workload whose rollout is complete, 0 of any other.
func complete(object any) int32 {
	var wanted, ready int32
	switch typed := object.(type) {
	case *appsv1.Deployment:
		if typed.Status.ObservedGeneration >= typed.Generation {
			wanted, ready = ptr.Deref(typed.Spec.Replicas, 1), typed.Status.ReadyReplicas
		}
	case *appsv1.StatefulSet:
		if typed.Status.ObservedGeneration >= typed.Generation {
			wanted, ready = ptr.Deref(typed.Spec.Replicas, 1), typed.Status.ReadyReplicas
		}
	}
	if wanted != ready {
		return 0
	}
	return ready
}

func (c *Client) work() {
	for {
		key, stopped := c.queue.Get()
		if stopped {
			return
		}
		if err := c.next(key); err != nil && c.ctx.Err() == nil {
			c.lock.Lock()
			if c.failure == nil {
				c.failure = err
			}
			c.lock.Unlock()
		}
		c.queue.Done(key)
	}
}

// next writes what can be written for a custom resource. Nobody else works on the same one.
func (c *Client) next(key types.NamespacedName) error {
	templates := c.templates.Load()
	c.lock.Lock()
	found := c.owners[key]
	if found == nil || found.generation > int64(len(templates.Steps)) {
		c.lock.Unlock()
		return nil
	}
	now := *found
	c.lock.Unlock()
	step := templates.Steps[now.generation-1]
	var writes []workload.Write
	switch {
	case now.written < now.generation:
		writes, now.written = step.Objects, now.generation
	case now.announced < now.generation && now.ready == step.Replicas:
		writes, now.announced = []workload.Write{step.Status}, now.generation
	}
	for _, write := range writes {
		if err := c.send(write.For(templates, key.Namespace, key.Name, now.uid, now.resourceVersion)); err != nil {
			return err
		}
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	found.written, found.announced = now.written, now.announced
	if found.announced < found.generation && found.ready == step.Replicas {
		c.queue.Add(key)
	}
	return nil
}

func (c *Client) send(write workload.Write) error {
	request, err := http.NewRequestWithContext(c.ctx, write.Method, c.host+write.Path, bytes.NewReader(write.Body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", write.ContentType)
	if write.ContentType == runtime.ContentTypeProtobuf {
		request.Header.Set("Accept", write.ContentType)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode >= http.StatusBadRequest {
		body, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
		return fmt.Errorf("%s %s: %s: %q", write.Method, write.Path, response.Status, body)
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}
