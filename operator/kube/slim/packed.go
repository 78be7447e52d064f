package slim

import (
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/klauspost/compress/s2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// message is an object with a binary form. All of Kubernetes' own kinds have one, and custom resources have none.
type message interface {
	client.Object
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// form is what the objects of a type have in common.
type form struct {
	// kind is their type, which is no pointer.
	kind reflect.Type
	// dictionary is what they are compressed with: the first object of the type.
	dictionary *s2.Dict
}

// packed is an object as the cache holds it: of the metadata only what the cache needs itself, and the compressed content. A Deployment takes
// a tenth of the memory then: what it consists of is small and much the same in all Deployments of the operator, but Go holds it in
// many maps, pointers and texts, and a thousand bytes of fields that are empty.
type packed struct {
	metav1.ObjectMeta

	form    *form
	content []byte
	// labels are the values of the labels by which the kind is indexed, in the order of the packer's keys, empty for one that the object does
	// not have. A map would take as much as all the rest.
	labels []string
}

// GetObjectKind returns nothing: the whole object has a kind.
func (p *packed) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns the whole object, because the cache of controller-runtime hands out copies of what it holds. If it cannot, which only
// a defect can cause, it returns what the cache refuses with an error, because it has the wrong type.
func (p *packed) DeepCopyObject() runtime.Object {
	whole, err := p.whole()
	if err != nil {
		utilruntime.HandleError(err)
		return p
	}
	return whole
}

// whole returns the object as it was before it was packed. The content of the result is its own.
func (p *packed) whole() (client.Object, error) {
	whole, _ := reflect.New(p.form.kind).Interface().(message)
	raw, err := p.form.dictionary.Decode(nil, p.content)
	if err == nil {
		err = whole.Unmarshal(raw)
	}
	if err != nil {
		return nil, fmt.Errorf("unpack %s %s: %w", p.form.kind, client.ObjectKeyFromObject(p), err)
	}
	return whole, nil
}

// unpacked returns a whole object. It returns what is not packed as it is.
func unpacked(object any) (any, error) {
	if p, ok := object.(*packed); ok {
		return p.whole()
	}
	return object, nil
}

// packer packs objects.
type packer struct {
	// keys are those of the labels by which some kinds are indexed.
	keys []string
	// forms are the forms by type. None is ever replaced.
	forms sync.Map
}

// pack is the transform of the cache. It returns custom resources, and what is packed already, as they are. managedFields are left out.
func (p *packer) pack(object any) (any, error) {
	whole, ok := object.(message)
	if _, done := object.(*packed); done || !ok {
		return object, nil
	}
	whole.SetManagedFields(nil)
	raw, err := whole.Marshal()
	if err != nil {
		return nil, fmt.Errorf("pack %T %s: %w", object, client.ObjectKeyFromObject(whole), err)
	}
	form := p.form(reflect.TypeOf(object).Elem(), raw)
	small := &packed{form: form, content: append([]byte(nil), form.dictionary.Encode(nil, raw)...)} // Encode leaves room for more.
	small.Name, small.Namespace, small.ResourceVersion = whole.GetName(), shared(whole.GetNamespace()), whole.GetResourceVersion()
	if isIndexed(whole) {
		small.labels = make([]string, len(p.keys))
		for i, key := range p.keys {
			small.labels[i] = shared(whole.GetLabels()[key])
		}
	}
	return small, nil
}

// form returns the form of a type. first is the content of the first object.
func (p *packer) form(kind reflect.Type, first []byte) *form {
	found, ok := p.forms.Load(kind)
	if !ok {
		// A dictionary has at least 16 bytes, and so has an empty object of each kind.
		found, _ = p.forms.LoadOrStore(kind, &form{kind, s2.MakeDict(first, nil)})
	}
	known, _ := found.(*form)
	return known
}

// indexed returns the kinds that are indexed by labels.
func indexed() []client.Object { return []client.Object{&corev1.Pod{}, &appsv1.ControllerRevision{}} }

func isIndexed(object client.Object) bool {
	return slices.ContainsFunc(indexed(), func(kind client.Object) bool { return reflect.TypeOf(kind) == reflect.TypeOf(object) })
}
