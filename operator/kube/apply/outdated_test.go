package apply_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
)

// A process that was paused goes on with its plan although another one leads by now, and has given the workload another pod template. That
// its cache is up to date again must not make it take that back: Kubernetes would replace the pods of a Deployment, and lose their items.
func TestAPlanFromBeforeAnotherPodTemplateIsOutdated(t *testing.T) {
	owner := newOwner(t)
	first := plan(owner)
	mustApply(t, live(), owner, first)
	first.New = false
	named := deployment(t, owner).Annotations[owned.RecordAnnotation]
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"`+owned.RecordAnnotation+`":"newer"}},`+
		`"spec":{"template":{"metadata":{"labels":{"team":"shop","app.kubernetes.io/part-of":"another"}}}}}`))
	if err := cluster.Client.Patch(t.Context(), deployment(t, owner), patch); err != nil {
		t.Fatal(err)
	}
	before := deployment(t, owner)
	first.Recorded[0].Named = &named
	_, err := live().Apply(t.Context(), owner, first)
	wantClass(t, err, reconcileerror.Outdated)
	if difference := cmp.Diff(before, deployment(t, owner)); difference != "" {
		t.Errorf("the Deployment was changed:\n%s", difference)
	}
	first.Recorded[0].Named = ptr.To("newer")
	if _, err := live().Apply(t.Context(), owner, first); err != nil {
		t.Errorf("a plan that knows the template: %v", err)
	}
	if now := deployment(t, owner); now.Annotations[owned.RecordAnnotation] != named || now.Spec.Template.Labels["app.kubernetes.io/part-of"] == "another" {
		t.Errorf("the Deployment names %s and has the labels %v", now.Annotations[owned.RecordAnnotation], now.Spec.Template.Labels)
	}
}
