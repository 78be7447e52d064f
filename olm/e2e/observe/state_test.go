package observe_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/example/memcached-operator/olm/e2e/observe"
)

var (
	kind   = schema.GroupVersionKind{Group: "cache.example.com", Version: "v1alpha1", Kind: "Memcached"}
	labels = map[string]string{"app.kubernetes.io/managed-by": "memcached-operator"}
)

func podWith(name string, restarts int32) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), Labels: labels},
		Status:     corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{RestartCount: restarts}}},
	}
}

func deployment(image string) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "cache", Labels: labels}}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "memcached", Image: image}}
	return d
}

func cache(size int64, status string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": size}, "status": map[string]any{"word": status}}}
	object.SetGroupVersionKind(kind)
	object.SetNamespace("ns")
	object.SetName("cache")
	return object
}

func take(t *testing.T, objects ...client.Object) *observe.State {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	scheme.AddKnownTypeWithName(kind, &unstructured.Unstructured{})
	scheme.AddKnownTypeWithName(kind.GroupVersion().WithKind("MemcachedList"), &unstructured.UnstructuredList{})
	s, err := observe.Take(t.Context(), fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build(), "ns", []schema.GroupVersionKind{kind})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWhatDiffersIsNamed(t *testing.T) {
	foreign := podWith("foreign", 0)
	foreign.Labels = nil
	elsewhere := podWith("elsewhere", 0)
	elsewhere.Namespace = "other"
	for name, test := range map[string]struct {
		after     []client.Object
		want      observe.Changes
		recreated int
	}{
		"nothing but the status": {after: []client.Object{podWith("a", 1), podWith("b", 0), deployment("x"), cache(2, "new"), foreign, elsewhere}},
		"a pod was recreated": {
			after: []client.Object{podWith("a", 1), podWith("c", 0), deployment("x"), cache(2, "old")},
			want:  observe.Changes{Gone: []string{"ns/b"}, New: []string{"ns/c"}}, recreated: 1,
		},
		"a pod was added": {
			after: []client.Object{podWith("a", 1), podWith("b", 0), podWith("c", 0), deployment("x"), cache(2, "old")},
			want:  observe.Changes{New: []string{"ns/c"}}, recreated: 1,
		},
		"a container restarted": {
			after: []client.Object{podWith("a", 3), podWith("b", 0), deployment("x"), cache(2, "old")},
			want:  observe.Changes{Restarts: 2},
		},
		"a template and a resource changed": {
			after: []client.Object{podWith("a", 1), podWith("b", 0), deployment("y"), cache(3, "old")},
			want:  observe.Changes{Templates: []string{"ns/cache"}, Resources: []string{"Memcached ns/cache"}},
		},
		"all is gone": {
			want:      observe.Changes{Gone: []string{"ns/a", "ns/b"}, Templates: []string{"ns/cache"}, Resources: []string{"Memcached ns/cache"}},
			recreated: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			changes := take(t, podWith("a", 1), podWith("b", 0), deployment("x"), cache(2, "old")).Compare(take(t, test.after...))
			if diff := cmp.Diff(test.want, changes); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if changes.Recreated() != test.recreated {
				t.Errorf("%d recreated, want %d", changes.Recreated(), test.recreated)
			}
		})
	}
}
