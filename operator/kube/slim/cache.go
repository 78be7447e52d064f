package slim

import (
	"context"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NewCache returns a cache that holds objects of Kubernetes' own kinds packed. All who read or watch get them whole, except managedFields,
// and may change what they get, even with client.UnsafeDisableDeepCopy. Custom resources go through the transforms of the options.
func NewCache(config *rest.Config, options cache.Options) (cache.Cache, error) {
	packer := &packer{}
	options.DefaultTransform = packer.pack
	packed, err := cache.New(config, options)
	if err != nil {
		return nil, err
	}
	return &unpackingCache{Cache: packed, packer: packer}, nil
}

// unpackingCache makes whole what another cache holds packed.
type unpackingCache struct {
	cache.Cache

	packer *packer
}

// Get reads an object.
func (c *unpackingCache) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if err := c.Cache.Get(ctx, key, object, options...); err != nil {
		return err
	}
	return c.packer.unpack(object)
}

// List reads objects. Of Kubernetes' own kinds, only pods and ControllerRevisions can be selected by labels.
func (c *unpackingCache) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	item := itemOf(list)
	if item == nil {
		return c.Cache.List(ctx, list, options...)
	}
	asked := (&client.ListOptions{}).ApplyOptions(options)
	if !listed(item) && asked.LabelSelector != nil && !asked.LabelSelector.Empty() {
		return fmt.Errorf("%T cannot be listed by labels: the cache does not hold them (add it to the function listed)", item)
	}
	if err := c.Cache.List(ctx, list, options...); err != nil {
		return err
	}
	return meta.EachListItem(list, func(item runtime.Object) error { return c.packer.unpack(item) })
}

// itemOf returns an empty object of a list's type, nil if objects of that type are not packed.
func itemOf(list client.ObjectList) message {
	items, found := reflect.TypeOf(list).Elem().FieldByName("Items")
	if !found {
		return nil
	}
	item, _ := reflect.New(items.Type.Elem()).Interface().(message)
	return item
}

// IndexField indexes custom resources by a field. Other objects cannot be indexed.
func (c *unpackingCache) IndexField(ctx context.Context, object client.Object, field string, extract client.IndexerFunc) error {
	if _, packed := object.(message); packed {
		return fmt.Errorf("%T cannot be indexed by %s: the cache holds it packed", object, field)
	}
	return c.Cache.IndexField(ctx, object, field, extract)
}

// GetInformer returns the informer of an object's kind.
func (c *unpackingCache) GetInformer(ctx context.Context, object client.Object, options ...cache.InformerGetOption) (cache.Informer, error) {
	found, err := c.Cache.GetInformer(ctx, object, options...)
	if err != nil {
		return nil, err
	}
	return informer{found, c.packer}, nil
}

// GetInformerForKind returns the informer of a kind.
func (c *unpackingCache) GetInformerForKind(ctx context.Context, kind schema.GroupVersionKind, options ...cache.InformerGetOption) (cache.Informer, error) {
	found, err := c.Cache.GetInformerForKind(ctx, kind, options...)
	if err != nil {
		return nil, err
	}
	return informer{found, c.packer}, nil
}
