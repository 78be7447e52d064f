package apply_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
	"github.com/example/memcached-operator/operator/memcached/inputs"
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

// A record of another process is newer than a plan that was made before it: it may say that a rollout is complete, and the operator would say
// that again only when it next looks at the cache.
func TestAPlanFromBeforeARecordWasWrittenIsOutdated(t *testing.T) {
	owner := newOwner(t)
	first := plan(owner)
	mustApply(t, live(), owner, first)
	reference := first.Needs[0].Needs
	record := &appsv1.ControllerRevision{}
	annotate := func(text string) {
		t.Helper()
		record.Name, record.Namespace = reference.Name, reference.Namespace
		if err := cluster.Client.Patch(t.Context(), record, client.RawPatch("application/merge-patch+json", []byte(text))); err != nil {
			t.Fatal(err)
		}
	}
	annotate(`{"metadata":{"annotations":{"` + inputs.NoteAnnotation + `":"newer"}}}`)
	read := record.ResourceVersion
	annotate(`{"metadata":{"annotations":{"` + inputs.NoteAnnotation + `":"newest"}}}`)
	removing := owned.Plan{Absent: []owned.Reference{reference}}
	for name, version := range map[string]string{"no record": "", "an older one": read} {
		first.New, first.ResourceVersions[reference] = version == "", version
		_, err := live().Apply(t.Context(), owner, first)
		wantClass(t, err, reconcileerror.Outdated)
		removing.ResourceVersions = first.ResourceVersions
		_, err = live().Apply(t.Context(), owner, removing)
		wantClass(t, err, reconcileerror.Outdated)
		now := &appsv1.ControllerRevision{}
		if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(record), now); err != nil || now.ResourceVersion != record.ResourceVersion {
			t.Errorf("a plan that knows %s has changed the record: %v", name, err)
		}
	}
	first.ResourceVersions[reference] = record.ResourceVersion
	if changes := mustApply(t, live(), owner, first); len(changes) != 1 || changes[0].Object != reference {
		t.Errorf("a plan that knows the record did %+v", changes)
	}
}

// The operator does not find a record without its labels, so every plan is made without it.
func TestARecordWithoutLabelsGetsThemBack(t *testing.T) {
	owner := newOwner(t)
	mustApply(t, live(), owner, plan(owner))
	record := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: owner.Namespace, Name: plan(owner).Needs[0].Needs.Name}}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"`+inputs.CacheLabel+`":null}}}`))
	if err := cluster.Client.Patch(t.Context(), record, patch); err != nil {
		t.Fatal(err)
	}
	mustApply(t, live(), owner, plan(owner))
	if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(record), record); err != nil || record.Labels[inputs.CacheLabel] != owner.Name {
		t.Errorf("the labels are %v: %v", record.Labels, err)
	}
}
