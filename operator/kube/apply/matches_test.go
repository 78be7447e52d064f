package apply

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/kube/owned"
)

func TestEverythingThatIsComparedChangesTheFingerprint(t *testing.T) {
	m, configuration := newMatches(), []byte("configuration")
	meta := metav1.ObjectMeta{
		Name: "cache", UID: "1", ResourceVersion: "1", Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"},
		OwnerReferences: []metav1.OwnerReference{{UID: "2"}},
	}
	meta.Generation = 1 // A client may set that of a Service, and the API server leaves it.
	counted := &appsv1.Deployment{ObjectMeta: meta}
	for _, object := range []client.Object{counted, &corev1.Service{ObjectMeta: meta}} {
		before := m.fingerprint(configuration, object)
		if m.fingerprint(configuration, object.DeepCopyObject().(client.Object)) != before {
			t.Errorf("a copy of a %T has another fingerprint", object)
		}
		if m.fingerprint([]byte("another"), object) == before {
			t.Errorf("another configuration has the fingerprint of a %T", object)
		}
		// Every write gives another resourceVersion, and one of a spec another generation.
		for name, change := range map[string]func(client.Object){
			"another object": func(o client.Object) { o.SetUID("3") },
			"the spec": func(o client.Object) {
				if countsChanges(o) {
					o.SetGeneration(2)
				}
			},
			"labels":      func(o client.Object) { o.SetLabels(nil) },
			"annotations": func(o client.Object) { o.SetAnnotations(map[string]string{"c": "e"}) },
			"owners":      func(o client.Object) { o.SetOwnerReferences(nil) },
		} {
			changed := object.DeepCopyObject().(client.Object)
			changed.SetResourceVersion("2")
			if change(changed); m.fingerprint(configuration, changed) == before {
				t.Errorf("%s of a %T: the fingerprint is the same", name, object)
			}
		}
	}
	status := counted.DeepCopy()
	status.ResourceVersion, status.Status.Replicas = "2", 3
	if m.fingerprint(configuration, status) != m.fingerprint(configuration, counted) {
		t.Error("a status changes the fingerprint of a Deployment")
	}
}

func TestMatchesForgetRatherThanGrow(t *testing.T) {
	m := newMatches()
	reference := func(i int) owned.Reference { return owned.Reference{Namespace: "default", Name: fmt.Sprint(i)} }
	for i := range maxMatches + 1 {
		m.remember(reference(i), uint64(i))
	}
	if len(m.seen) > maxMatches || !m.include(reference(maxMatches), maxMatches) {
		t.Errorf("it remembers %d", len(m.seen))
	}
	if m.remember(reference(maxMatches), 1); m.include(reference(maxMatches), maxMatches) {
		t.Error("it remembers an earlier match")
	}
}
