package slim

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
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
// the options. A list of pods or ControllerRevisions that have one of the given labels costs no more for how many others there are.
func NewCache(indexed ...string) cache.NewCacheFunc {
	return func(config *rest.Config, options cache.Options) (cache.Cache, error) {
		packer := &packer{}
		options.DefaultTransform = packer.pack
		packed, err := cache.New(config, options)
		if err != nil {
			return nil, err
		}
		for _, label := range indexed {
			extract := func(object client.Object) []string {
				if value := object.GetLabels()[label]; value != "" {
					return []string{value}
				}
				return nil
			}
			for _, object := range []client.Object{&corev1.Pod{}, &appsv1.ControllerRevision{}} {
				if err := packed.IndexField(context.Background(), object, labelField+label, extract); err != nil {
					return nil, fmt.Errorf("index %T by the label %s: %w", object, label, err)
				}
			}
		}
		return &unpackingCache{Cache: packed, packer: packer, indexed: indexed}, nil
	}
}

// unpackingCache makes whole what another cache holds packed.
type unpackingCache struct {
	cache.Cache

	packer  *packer
	indexed []string // By which listed objects are indexed.
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
	if err := c.Cache.List(ctx, list, append(slices.Clone(options), c.index(asked.LabelSelector)...)...); err != nil {
		return err
	}
	return meta.EachListItem(list, func(item runtime.Object) error { return c.packer.unpack(item) })
}

// index returns the option that uses an index for a selector, none if there is none.
func (c *unpackingCache) index(selector labels.Selector) []client.ListOption {
	for _, label := range c.indexed {
		if selector == nil {
			break
		}
		if value, found := selector.RequiresExactMatch(label); found {
			return []client.ListOption{client.MatchingFields{labelField + label: value}}
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
