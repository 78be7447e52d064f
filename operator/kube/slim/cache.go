package slim

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// labelField is the field index of listed objects by a label. The label follows.
const labelField = "label:"

// NewCache returns a function that makes a cache which holds objects of Kubernetes' own kinds packed. All who read or watch get them whole,
// except managedFields, and may change what they get, even with client.UnsafeDisableDeepCopy. Custom resources go through the transforms of
// the options. A list of pods or ControllerRevisions that have one of the labels with the given keys costs no more for how many others there are; other
// lists by labels unpack all objects of the namespace.
func NewCache(keys ...string) cache.NewCacheFunc {
	return func(config *rest.Config, options cache.Options) (cache.Cache, error) {
		options.DefaultTransform = (&packer{keys: keys}).pack
		packed, err := cache.New(config, options)
		if err != nil {
			return nil, err
		}
		for i, key := range keys {
			for _, object := range indexed() {
				//nolint:forbidigo // There is no context yet, and nothing to wait for: the cache has not been started.
				if err := packed.IndexField(context.Background(), object, labelField+key, valueOf(i)); err != nil {
					return nil, fmt.Errorf("index %T by the label %s: %w", object, key, err)
				}
			}
		}
		return &unpackingCache{Cache: packed, keys: keys}, nil
	}
}

// valueOf returns a function that returns the value of a packed object's label, which is the one at an index.
func valueOf(index int) client.IndexerFunc {
	return func(object client.Object) []string {
		if p, ok := object.(*packed); ok && p.labels[index] != "" {
			return []string{p.labels[index]}
		}
		return nil
	}
}

// unpackingCache makes whole what another cache holds packed.
type unpackingCache struct {
	cache.Cache

	keys []string // Of the labels by which some kinds are indexed.
}

// copied makes the other cache copy what it hands out, which unpacks it.
const copied = client.UnsafeDisableDeepCopyOption(false)

// Get reads an object.
func (c *unpackingCache) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if _, packed := object.(message); packed {
		options = append(slices.Clone(options), copied)
	}
	return c.Cache.Get(ctx, key, object, options...)
}

// List reads objects. The selector by labels is for whole objects, because packed ones have no labels.
func (c *unpackingCache) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	item := itemOf(list)
	if item == nil {
		return c.Cache.List(ctx, list, options...)
	}
	asked := (&client.ListOptions{}).ApplyOptions(options)
	selector := asked.LabelSelector
	if selector == nil || selector.Empty() {
		return c.Cache.List(ctx, list, asked, copied)
	}
	if asked.Limit > 0 {
		return fmt.Errorf("%T cannot be listed by labels with a limit", item)
	}
	asked.LabelSelector = nil
	if err := c.Cache.List(ctx, list, append(c.index(item, selector), asked, copied)...); err != nil {
		return err
	}
	all, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	return meta.SetList(list, slices.DeleteFunc(all, func(object runtime.Object) bool {
		whole, ok := object.(client.Object)
		return !ok || !selector.Matches(labels.Set(whole.GetLabels()))
	}))
}

// index returns the option that uses an index for a selector of objects of a kind, none if there is none.
func (c *unpackingCache) index(kind client.Object, selector labels.Selector) []client.ListOption {
	if !isIndexed(kind) {
		return nil
	}
	for _, key := range c.keys {
		if value, found := selector.RequiresExactMatch(key); found && value != "" {
			return []client.ListOption{client.MatchingFields{labelField + key: value}}
		}
	}
	return nil
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
	return informer{found}, nil
}

// GetInformerForKind returns the informer of a kind.
func (c *unpackingCache) GetInformerForKind(ctx context.Context, kind schema.GroupVersionKind, options ...cache.InformerGetOption) (cache.Informer, error) {
	found, err := c.Cache.GetInformerForKind(ctx, kind, options...)
	if err != nil {
		return nil, err
	}
	return informer{found}, nil
}
