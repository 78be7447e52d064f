package apply_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/kube/apply"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
	"github.com/example/memcached-operator/operator/memcached/desired"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/monitoring/manifest"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

func plan(owner *v1alpha1.Memcached) owned.Plan {
	plan, _ := desired.MakePlan(inputs.Inputs{Memcached: owner, Images: inputs.Images{
		Memcached: map[string]string{"1.6.18": "example.com/memcached:1"}, Default: "1.6.18",
	}})
	return plan.Plan // The spec of a test is valid.
}

// workloadIn returns the Deployment in a plan.
func workloadIn(plan owned.Plan) *appsv1ac.DeploymentApplyConfiguration {
	for _, configuration := range plan.Present {
		if deployment, ok := configuration.(*appsv1ac.DeploymentApplyConfiguration); ok {
			return deployment
		}
	}
	return nil
}

// live returns an Applier without a cache.
func live() *apply.Applier {
	return apply.New(cluster.Client, cluster.Client, cluster.Client, cluster.Scheme, time.Minute)
}

// seeing returns an Applier whose cache contains only the given object, or nothing.
func seeing(object *appsv1.Deployment) *apply.Applier {
	return apply.New(frozen{object: object}, cluster.Client, cluster.Client, cluster.Scheme, time.Minute)
}

// frozen is a cache that is not updated.
type frozen struct {
	client.Reader
	object *appsv1.Deployment
}

func (f frozen) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	deployment, ok := into.(*appsv1.Deployment)
	if f.object == nil || !ok {
		return apierrors.NewNotFound(appsv1.Resource("deployments"), key.Name)
	}
	f.object.DeepCopyInto(deployment)
	return nil
}

// newOwner creates a Memcached of size 3 in a namespace of its own.
func newOwner(t *testing.T) *v1alpha1.Memcached {
	t.Helper()
	owner := testkit.MakeMemcached("cache").Namespace(cluster.Namespace(t)).Size(3).Obj()
	if err := cluster.Client.Create(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	return owner
}

// mustApply applies a plan and returns the changes.
func mustApply(t *testing.T, applier *apply.Applier, owner *v1alpha1.Memcached, plan owned.Plan) []apply.Change {
	t.Helper()
	result, err := applier.Apply(t.Context(), owner, plan)
	if err != nil {
		t.Fatalf("apply: %v", err)
	}
	return result.Changes
}

func deployment(t *testing.T, owner *v1alpha1.Memcached) *appsv1.Deployment {
	t.Helper()
	found := &appsv1.Deployment{}
	if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(owner), found); err != nil {
		t.Fatal(err)
	}
	return found
}

func resize(t *testing.T, owner *v1alpha1.Memcached, size int32) {
	t.Helper()
	owner.Spec.Size = size
	if err := cluster.Client.Update(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
}

func wantClass(t *testing.T, err error, class reconcileerror.Class) {
	t.Helper()
	if got, _ := reconcileerror.Describe(err); got != class {
		t.Errorf("the error is %s (%v), want %s", got, err, class)
	}
}

func TestUnchangedObjectsAreNotWritten(t *testing.T) {
	owner := newOwner(t)
	changes := mustApply(t, live(), owner, plan(owner))
	notCreated := func(change apply.Change) bool { return change.Action != apply.Created }
	if len(changes) != len(plan(owner).Present) || slices.ContainsFunc(changes, notCreated) {
		t.Errorf("the first apply did %+v", changes)
	}
	before := deployment(t, owner)
	if changes := mustApply(t, live(), owner, plan(owner)); len(changes) != 0 {
		t.Errorf("the second apply did %+v", changes)
	}
	resize(t, owner, 0)
	changes = mustApply(t, live(), owner, plan(owner))
	if len(changes) != 1 || changes[0].Action != apply.Updated || !cmp.Equal(changes[0].Fields, []string{"spec.replicas"}) {
		t.Errorf("a new size did %+v", changes)
	}
	if after := deployment(t, owner); *after.Spec.Replicas != 0 || after.UID != before.UID {
		t.Errorf("replicas are %d", *after.Spec.Replicas)
	}
}

// With an outdated copy of the owner, the operator must never scale down a running cache: its items would be lost.
func TestAnOutdatedOwnerChangesNothing(t *testing.T) {
	owner := newOwner(t)
	mustApply(t, live(), owner, plan(owner))
	old := owner.DeepCopy()
	resize(t, owner, 5)
	mustApply(t, live(), owner, plan(owner))

	_, err := live().Apply(t.Context(), old, plan(old))
	wantClass(t, err, reconcileerror.Outdated)
	if replicas := *deployment(t, owner).Spec.Replicas; replicas != 5 {
		t.Errorf("an outdated owner changed the replicas to %d", replicas)
	}
}

// An owner that is not new and whose objects are missing may have been deleted together with them.
func TestADeletedOwnerCreatesNothing(t *testing.T) {
	owner := newOwner(t)
	owner.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady}}
	if err := cluster.Client.Delete(t.Context(), owner.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	_, err := live().Apply(t.Context(), owner, plan(owner))
	wantClass(t, err, reconcileerror.Outdated)

	again := testkit.MakeMemcached("cache").Namespace(owner.Namespace).Size(3).Obj()
	if err := cluster.Client.Create(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	_, err = live().Apply(t.Context(), owner, plan(owner))
	wantClass(t, err, reconcileerror.Outdated)
	err = cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(owner), &appsv1.Deployment{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("a Deployment was created for a deleted owner: %v", err)
	}
}

func TestAnOutdatedObjectIsNotOverwritten(t *testing.T) {
	owner := newOwner(t)
	mustApply(t, live(), owner, plan(owner))
	old := deployment(t, owner)
	old.Spec.Replicas = ptr.To[int32](1) // The cached object differs from the wanted one.
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"example.com/new":"yes"}}}`))
	if err := cluster.Client.Patch(t.Context(), deployment(t, owner), patch); err != nil {
		t.Fatal(err)
	}
	before := deployment(t, owner)
	_, err := seeing(old).Apply(t.Context(), owner, plan(owner))
	wantClass(t, err, reconcileerror.Outdated)
	if difference := cmp.Diff(before, deployment(t, owner)); difference != "" {
		t.Errorf("the Deployment was changed:\n%s", difference)
	}
}

// blind is a reader that does not return Deployments, as if they were created just after the read.
type blind struct{ client.Reader }

func (b blind) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	if _, ok := into.(*appsv1.Deployment); ok {
		return apierrors.NewNotFound(appsv1.Resource("deployments"), key.Name)
	}
	return b.Reader.Get(ctx, key, into, options...)
}

func TestAForeignObjectCreatedAfterTheReadIsNotOverwritten(t *testing.T) {
	owner := newOwner(t)
	foreign := testkit.MakeMemcached("cache").Namespace(owner.Namespace).Size(1).Obj()
	object := &appsv1.Deployment{}
	mustDecode(t, workloadIn(plan(foreign)), object)
	object.OwnerReferences = nil
	object.Spec.Template.Spec.Containers[0].Image = "foreign"
	if err := cluster.Client.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	reader := blind{cluster.Client}
	_, err := apply.New(reader, reader, cluster.Client, cluster.Scheme, time.Minute).Apply(t.Context(), owner, plan(owner))
	wantClass(t, err, reconcileerror.Outdated)
	if now := deployment(t, owner); now.Spec.Template.Spec.Containers[0].Image != "foreign" || len(now.OwnerReferences) > 0 {
		t.Errorf("the foreign Deployment was changed: %+v", now)
	}
	_, err = live().Apply(t.Context(), owner, plan(owner))
	wantClass(t, err, reconcileerror.Terminated)
}

func TestAFieldThatIsNoLongerWantedIsRemoved(t *testing.T) {
	owner := newOwner(t)
	with, without := plan(owner), plan(owner)
	service := with.Present[slices.IndexFunc(with.Present, func(c owned.Configuration) bool { return *c.GetKind() == "Service" })]
	service.(*corev1ac.ServiceApplyConfiguration).WithLabels(map[string]string{"example.com/extra": "yes"})
	labels := func() map[string]string {
		found := &corev1.Service{}
		if err := cluster.Client.Get(t.Context(), client.ObjectKey{Namespace: owner.Namespace, Name: *service.GetName()}, found); err != nil {
			t.Fatal(err)
		}
		return found.Labels
	}
	mustApply(t, live(), owner, with)
	if labels()["example.com/extra"] != "yes" {
		t.Fatal("the label was not set")
	}
	changes := mustApply(t, live(), owner, without)
	if len(changes) != 1 || changes[0].Action != apply.Updated {
		t.Errorf("removing a field did %+v", changes)
	}
	if labels()["example.com/extra"] != "" {
		t.Errorf("the label is still there: %v", labels())
	}
}

func TestARejectedObjectIsReportedAndRetried(t *testing.T) {
	owner := newOwner(t)
	wrong := plan(owner)
	workloadIn(wrong).Spec.Selector.WithMatchLabels(map[string]string{"not": "there"})
	_, err := live().Apply(t.Context(), owner, wrong)
	if class, reason := reconcileerror.Describe(err); class != reconcileerror.Delayed || reason != v1alpha1.ReasonRejected {
		t.Errorf("the error is %s %s: %v", class, reason, err)
	}
	if err == nil || !strings.Contains(err.Error(), "`selector` does not match template `labels`") {
		t.Errorf("the API server is not quoted: %v", err)
	}
}

func TestAbsentDeletesOnlyOwnedObjects(t *testing.T) {
	owner := newOwner(t)
	absent := owned.Plan{Absent: []owned.Reference{{
		GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("Deployment"), Namespace: owner.Namespace, Name: owner.Name,
	}}}
	if changes := mustApply(t, live(), owner, absent); len(changes) != 0 {
		t.Errorf("a missing object was deleted: %+v", changes)
	}
	mustApply(t, live(), owner, plan(owner))
	other := testkit.MakeMemcached("cache").Namespace(owner.Namespace).UID("other").Obj()
	if changes := mustApply(t, live(), other, absent); len(changes) != 0 {
		t.Errorf("an object of another owner was deleted: %+v", changes)
	}
	old := deployment(t, owner)
	old.ResourceVersion = "1"
	_, err := seeing(old).Apply(t.Context(), owner, absent)
	wantClass(t, err, reconcileerror.Outdated)
	changes := mustApply(t, live(), owner, absent)
	if len(changes) != 1 || changes[0].Action != apply.Deleted {
		t.Errorf("deleting did %+v", changes)
	}
	if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(owner), &appsv1.Deployment{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Deployment still exists: %v", err)
	}
}

func TestRepairedChangesNameTheirFields(t *testing.T) {
	owner := newOwner(t)
	mustApply(t, live(), owner, plan(owner))
	now := deployment(t, owner)
	now.Spec.Replicas = ptr.To[int32](7)
	now.Spec.Template.Spec.Containers[0].Args = []string{"-vv"}
	if err := cluster.Client.Update(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	owner.Status.ObservedGeneration = owner.Generation
	object := owned.Reference{GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("Deployment"), Namespace: owner.Namespace, Name: "cache"}
	want := []apply.Change{
		{Action: apply.Repaired, Object: object, Fields: []string{"spec.replicas"}},
		{Action: apply.Repaired, Object: object, Fields: []string{`spec.template.spec.containers[name="memcached"].args`}},
	}
	if difference := cmp.Diff(want, mustApply(t, live(), owner, plan(owner))); difference != "" {
		t.Errorf("changes (-want +got):\n%s", difference)
	}
	if controller := metav1.GetControllerOf(deployment(t, owner)); controller == nil || controller.UID != owner.UID {
		t.Errorf("the controller is %+v", controller)
	}
}

func mustDecode(t *testing.T, from any, into any) {
	t.Helper()
	raw, err := json.Marshal(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}

// A CRD can be removed while the operator still believes that it exists.
func TestAMissingKindDoesNotStopOtherObjects(t *testing.T) {
	owner := newOwner(t)
	wanted := plan(owner)
	monitor := manifest.ServiceMonitor(manifest.Cache{Name: owner.Name, Namespace: owner.Namespace})
	wanted.Present = append([]owned.Configuration{monitor}, wanted.Present...)
	wanted.Absent = append([]owned.Reference{owned.ReferenceTo(monitor)}, wanted.Absent...)
	result, err := live().Apply(t.Context(), owner, wanted)
	if err != nil || len(result.Changes) != len(wanted.Present)-1 {
		t.Errorf("%v: %d changes, want all but that of the kind: %v", err, len(result.Changes), result.Changes)
	}
}
