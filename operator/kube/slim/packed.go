package slim

import (
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/klauspost/compress/s2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// mark is how the selfLink of a packed object begins; the rest is its content. The API server stores no selfLink, so nobody else can set it.
const mark = "\xffpacked:"

// message is an object with a binary form. All of Kubernetes' own kinds have one, and custom resources have none.
type message interface {
	client.Object
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// packer packs and unpacks objects. A packed object is of the same type, and has of its fields only what the cache needs itself, beside its
// compressed content. A Deployment takes a fifth of the memory then: what it consists of is small and much the same in all Deployments of
// the operator, but Go holds it in many maps, pointers and texts.
type packer struct {
	// dictionaries are what objects are compressed with, by their type: the first object of the type. None is ever replaced.
	dictionaries sync.Map
}

// pack is the transform of the cache. It returns custom resources, and what is packed already, as they are. managedFields are left out.
func (p *packer) pack(object any) (any, error) {
	whole, ok := object.(message)
	if !ok || strings.HasPrefix(whole.GetSelfLink(), mark) {
		return object, nil
	}
	whole.SetManagedFields(nil)
	raw, err := whole.Marshal()
	if err != nil {
		return nil, fmt.Errorf("pack %T %s: %w", object, client.ObjectKeyFromObject(whole), err)
	}
	packed, _ := reflect.New(reflect.TypeOf(object).Elem()).Interface().(client.Object)
	packed.SetName(whole.GetName())
	packed.SetNamespace(shared(whole.GetNamespace()))
	packed.SetResourceVersion(whole.GetResourceVersion())
	if listed(packed) {
		packed.SetLabels(sharedLabels(whole.GetLabels()))
	}
	packed.SetSelfLink(mark + string(p.dictionary(packed, raw).Encode(nil, raw)))
	return packed, nil
}

// dictionary returns what objects of a type are compressed with. first is the content of the first one.
func (p *packer) dictionary(object client.Object, first []byte) *s2.Dict {
	found, ok := p.dictionaries.Load(reflect.TypeOf(object))
	if !ok {
		// A dictionary has at least 16 bytes, and so has an empty object of each kind.
		found, _ = p.dictionaries.LoadOrStore(reflect.TypeOf(object), s2.MakeDict(first, nil))
	}
	dictionary, _ := found.(*s2.Dict)
	return dictionary
}

// unpack makes a packed object whole, and leaves others as they are. The content of the object becomes its own.
func (p *packer) unpack(object any) error {
	packed, ok := object.(message)
	if !ok {
		return nil
	}
	content, ok := strings.CutPrefix(packed.GetSelfLink(), mark)
	if !ok {
		return nil
	}
	key, kind := client.ObjectKeyFromObject(packed), packed.GetObjectKind().GroupVersionKind()
	found, _ := p.dictionaries.Load(reflect.TypeOf(object))
	dictionary, ok := found.(*s2.Dict)
	if !ok {
		return fmt.Errorf("unpack %T %s: none was packed", object, key)
	}
	raw, err := dictionary.Decode(nil, []byte(content))
	if err == nil {
		reflect.ValueOf(object).Elem().SetZero()
		err = packed.Unmarshal(raw)
	}
	if err != nil {
		return fmt.Errorf("unpack %T %s: %w", object, key, err)
	}
	packed.GetObjectKind().SetGroupVersionKind(kind)
	return nil
}

// unpacked returns a whole object, and leaves a packed one as it is.
func (p *packer) unpacked(object any) (any, error) {
	if _, ok := object.(message); !ok {
		return object, nil
	}
	whole := reflect.New(reflect.TypeOf(object).Elem())
	whole.Elem().Set(reflect.ValueOf(object).Elem())
	return whole.Interface(), p.unpack(whole.Interface())
}

// listed reports whether objects of a type are listed by their labels. Only these keep them while they are packed.
func listed(object client.Object) bool {
	switch object.(type) {
	case *corev1.Pod, *appsv1.ControllerRevision:
		return true
	}
	return false
}
