package bundle_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/hack/internal/bundle"
)

func TestEncodeWritesOnlySetFields(t *testing.T) {
	deployment := appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Name: "d"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{},
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "c"}},
				Volumes:    []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
			}},
		},
	}
	got, err := bundle.Encode(deployment)
	if err != nil {
		t.Fatal(err)
	}
	// An empty selector and an empty emptyDir have a meaning. Empty strategy, resources and status have none.
	want := `apiVersion: apps/v1
kind: Deployment
metadata:
  name: d
spec:
  selector: {}
  template:
    metadata: {}
    spec:
      containers:
      - name: c
      volumes:
      - emptyDir: {}
        name: v
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestEncodeKeepsLargeNumbers(t *testing.T) {
	got, err := bundle.Encode(map[string]any{"kind": "X", "n": int64(9007199254740993)})
	if err != nil {
		t.Fatal(err)
	}
	if want := "kind: X\n" + "\"n\": 9007199254740993\n"; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
