package slim

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// owned returns the objects in a golden file of a plan as they come from the API server, with another name instead of the owner's.
func owned(t *testing.T, file, owner, name string) []message {
	t.Helper()
	content, err := os.ReadFile(filepath.FromSlash("../../" + file))
	if err != nil {
		t.Fatal(err)
	}
	var plan struct{ Present []map[string]any }
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(string(content), owner, name)), &plan); err != nil {
		t.Fatal(err)
	}
	var objects []message
	for _, fields := range plan.Present {
		kind := (&unstructured.Unstructured{Object: fields}).GroupVersionKind()
		typed, err := clientgoscheme.Scheme.New(kind)
		if err != nil {
			continue // It is read live.
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, typed); err != nil {
			t.Fatal(err)
		}
		object := typed.(message)
		object.SetUID("5b8e4f3a-1d2c-4c5b-9e8f-0123456789ab")
		object.SetResourceVersion("4711")
		objects = append(objects, received(t, object))
	}
	return objects
}

// received returns an object after a way over the network.
func received(t *testing.T, object message) message {
	t.Helper()
	raw, err := object.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	again := reflect.New(reflect.TypeOf(object).Elem()).Interface().(message)
	if err := again.Unmarshal(raw); err != nil {
		t.Fatal(err)
	}
	return again
}

// all returns objects of each kind that the operator makes. Those of one kind have much in common, or little.
func all(t *testing.T) []message {
	t.Helper()
	objects := []message{&appsv1.Deployment{}, &corev1.Pod{}, &appsv1.ControllerRevision{}} // The worst dictionaries.
	for _, name := range []string{"shop", "a-much-longer-name-of-a-cache"} {
		for file, owner := range map[string]string{
			"memcached/desired/testdata/three-nodes.yaml": "example-memcached", "memcached/desired/testdata/slots.yaml": "example-memcached",
			"application/desired/testdata/ingress.yaml": "example-application",
		} {
			objects = append(objects, owned(t, file, owner, name)...)
		}
	}
	for _, object := range objects {
		if deployment, ok := object.(*appsv1.Deployment); ok {
			objects = append(objects, received(t, &corev1.Pod{ObjectMeta: deployment.Spec.Template.ObjectMeta, Spec: deployment.Spec.Template.Spec}))
		}
	}
	return objects
}

// What the operator reads is what the API server sent, whatever the kind.
func TestAnObjectIsUnpackedAsItWas(t *testing.T) {
	packer, kinds := &packer{}, map[string]bool{}
	for _, object := range all(t) {
		want := object.DeepCopyObject()
		object.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "kubectl", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)}})
		held, err := packer.pack(object)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := packer.pack(held); err != nil || again != held {
			t.Errorf("%T is packed twice: %v", object, err)
		}
		for range 2 { // What the cache holds stays as it is.
			got, err := unpacked(held)
			if err != nil || !equality.Semantic.DeepEqual(want, got) {
				t.Errorf("%T %s: %v; it is\n%+v\nwant\n%+v", object, object.GetName(), err, got, want)
			}
		}
		if got := held.(client.Object).DeepCopyObject(); !equality.Semantic.DeepEqual(want, got) {
			t.Errorf("a copy of %T %s is\n%+v\nwant\n%+v", object, object.GetName(), got, want)
		}
		kinds[reflect.TypeOf(object).Elem().Name()] = true
	}
	for _, kind := range []string{"Deployment", "StatefulSet", "Service", "ControllerRevision", "Pod", "Ingress"} {
		if !kinds[kind] {
			t.Errorf("no %s was packed", kind)
		}
	}
}

// A defect shows as an error of the cache, which says that what it got has another type.
func TestADamagedObjectHasTheWrongType(t *testing.T) {
	held, err := (&packer{}).pack(pod("a", "10.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	damaged := held.(*packed)
	damaged.content = []byte("damaged")
	if got := damaged.DeepCopyObject(); got != damaged {
		t.Errorf("a copy of it is %v", got)
	}
	if got, err := unpacked(damaged); err == nil || !strings.Contains(err.Error(), "unpack v1.Pod /a") {
		t.Errorf("unpacked it is %v: %v", got, err)
	}
}

// The cache finds packed objects by their names and, if they are indexed by labels, by these.
func TestWhatAPackedObjectKeeps(t *testing.T) {
	meta := metav1.ObjectMeta{
		Name: "cache", Namespace: "shop", ResourceVersion: "4711", UID: "uid", Labels: map[string]string{"team": "shop", "tier": "one"},
		Annotations: map[string]string{"example.com/note": "text"}, Finalizers: []string{"example.com/wait"},
	}
	packer := &packer{keys: []string{"unknown", "team"}}
	for name, test := range map[string]struct {
		object message
		labels []string
	}{
		"Deployment":         {&appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{MinReadySeconds: 7}}, nil},
		"Pod":                {&corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{Hostname: "host"}}, []string{"", "shop"}},
		"ControllerRevision": {&appsv1.ControllerRevision{ObjectMeta: meta, Revision: 7}, []string{"", "shop"}},
	} {
		t.Run(name, func(t *testing.T) {
			held, err := packer.pack(test.object)
			if err != nil {
				t.Fatal(err)
			}
			want := metav1.ObjectMeta{Name: "cache", Namespace: "shop", ResourceVersion: "4711"}
			if difference := cmp.Diff(want, held.(*packed).ObjectMeta); difference != "" {
				t.Errorf("the packed object (-want +got):\n%s", difference)
			}
			if difference := cmp.Diff(test.labels, held.(*packed).labels); difference != "" {
				t.Errorf("its labels (-want +got):\n%s", difference)
			}
		})
	}
}

type events []any

func (e *events) OnAdd(object any, _ bool) { *e = append(*e, object) }
func (e *events) OnUpdate(before, now any) { *e = append(*e, before, now) }
func (e *events) OnDelete(object any)      { *e = append(*e, object) }
func pod(name string, ip string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.PodStatus{PodIP: ip}}
}

// Handlers get whole objects, also of a deletion that the watch has missed.
func TestHandlersGetWholeObjects(t *testing.T) {
	packer, seen := &packer{}, &events{}
	handler := handler{seen}
	pack := func(object any) any {
		packed, err := packer.pack(object)
		if err != nil {
			t.Fatal(err)
		}
		return packed
	}
	handler.OnAdd(pack(pod("a", "10.0.0.1")), true)
	handler.OnUpdate(pack(pod("a", "10.0.0.1")), pack(pod("a", "10.0.0.2")))
	handler.OnDelete(pack(pod("a", "10.0.0.2")))
	handler.OnDelete(toolscache.DeletedFinalStateUnknown{Key: "b", Obj: pack(pod("b", "10.0.0.3"))})
	want := &events{
		pod("a", "10.0.0.1"), pod("a", "10.0.0.1"), pod("a", "10.0.0.2"), pod("a", "10.0.0.2"),
		toolscache.DeletedFinalStateUnknown{Key: "b", Obj: pod("b", "10.0.0.3")},
	}
	if difference := cmp.Diff(want, seen); difference != "" {
		t.Errorf("the handler got (-want +got):\n%s", difference)
	}
}

// Equal texts of different objects take memory once. Long ones are not remembered.
func TestTextsAreShared(t *testing.T) {
	text, long := strings.Repeat("x", longestShared), strings.Repeat("x", longestShared+1)
	texts.Clear()
	if got := shared(text) + shared(strings.Clone(text)); got != text+text || texts.Len() != 1 {
		t.Errorf("%d texts are held", texts.Len())
	}
	if shared(long) != long || texts.Len() != 1 {
		t.Errorf("%d texts are held, with a long one", texts.Len())
	}
}
