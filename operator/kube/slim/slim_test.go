package slim_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/kube/slim"
)

// transformed returns what the cache holds of an object, which may go through the transform more than once.
func transformed(t *testing.T, transform func(any) (any, error), object any) any {
	t.Helper()
	for range 2 {
		var err error
		if object, err = transform(object); err != nil {
			t.Fatal(err)
		}
	}
	return object
}

func TestWhatNobodyReadsIsLeftOut(t *testing.T) {
	memcached := testkit.MakeMemcached("cache").Size(3).Obj()
	want := memcached.DeepCopy()
	memcached.Annotations = map[string]string{"example.com/large": strings.Repeat("x", 1<<20)}
	memcached.Labels, memcached.Finalizers = map[string]string{"team": "shop"}, []string{"example.com/wait"}
	memcached.OwnerReferences = []metav1.OwnerReference{{Name: "shop"}}
	memcached.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	got := transformed(t, slim.Memcached, memcached).(*v1alpha1.Memcached)
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("the Memcached in memory (-want +got):\n%s", difference)
	}
	if err := slim.Check(got, "it"); err != nil {
		t.Error(err)
	}
}

// Users cannot write what tells that a spec was left out, nor does markup count as more than it is.
func TestASpecIsHeldWhateverUsersWrite(t *testing.T) {
	application := &appv1alpha1.Application{Spec: appv1alpha1.ApplicationSpec{
		Image: "example.com/app:1", Env: []appv1alpha1.EnvVar{{Name: "MARKUP", Value: strings.Repeat("<", 100<<10)}},
	}}
	application.Annotations = map[string]string{"cache.example.com/spec-too-large": "7\n" + strings.Repeat("x", 1000)}
	want := application.Spec.DeepCopy()
	got := transformed(t, slim.Application, application).(*appv1alpha1.Application)
	if difference := cmp.Diff(*want, got.Spec); difference != "" || len(got.Annotations) > 0 {
		t.Errorf("the annotations are %v, the spec in memory (-want +got):\n%s", got.Annotations, difference)
	}
	if err := slim.Check(got, "it"); err != nil {
		t.Error(err)
	}
}

func TestASpecThatIsTooLargeIsNotHeld(t *testing.T) {
	application := &appv1alpha1.Application{Spec: appv1alpha1.ApplicationSpec{
		Image: "example.com/app:1", Env: []appv1alpha1.EnvVar{{Name: "LARGE", Value: strings.Repeat("x", 200<<10)}},
		Ingress: &appv1alpha1.IngressSpec{Host: "shop.example.com"},
	}}
	got := transformed(t, slim.Application, application).(*appv1alpha1.Application)
	if difference := cmp.Diff(appv1alpha1.ApplicationSpec{Ingress: &appv1alpha1.IngressSpec{Host: "shop.example.com"}}, got.Spec); difference != "" {
		t.Errorf("the spec in memory (-want +got):\n%s", difference)
	}
	if err := slim.Check(got, "it"); err == nil || !strings.Contains(err.Error(), "spec has 204") || !strings.Contains(err.Error(), "shorten it") {
		t.Errorf("the error is %v", err)
	}
}
