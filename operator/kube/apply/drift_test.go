package apply_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/kube/owned"
)

// Objects that matched are not compared again as long as they stay as they are.
func TestDriftOfWhatMatchedBeforeIsPutBack(t *testing.T) {
	for name, drift := range map[string]func(*appsv1.Deployment){
		"the spec":            func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "example.com/theirs" },
		"a label":             func(d *appsv1.Deployment) { delete(d.Labels, owned.LabelName) },
		"the owner reference": func(d *appsv1.Deployment) { d.OwnerReferences = nil },
	} {
		t.Run(name, func(t *testing.T) {
			owner, applier := newOwner(t), live()
			mustApply(t, applier, owner, plan(owner))
			before := deployment(t, owner)
			for range 2 { // The first one remembers.
				if changes := mustApply(t, applier, owner, plan(owner)); len(changes) > 0 {
					t.Fatalf("without drift, it did %+v", changes)
				}
			}
			drifted := before.DeepCopy()
			drift(drifted)
			if err := cluster.Client.Update(t.Context(), drifted); err != nil {
				t.Fatal(err)
			}
			mustApply(t, applier, owner, plan(owner))
			after := deployment(t, owner)
			if !cmp.Equal(before.Spec, after.Spec) || !cmp.Equal(before.Labels, after.Labels) || !cmp.Equal(before.OwnerReferences, after.OwnerReferences) {
				t.Errorf("it is not put back:\n%s", cmp.Diff(before, after))
			}
		})
	}
}
