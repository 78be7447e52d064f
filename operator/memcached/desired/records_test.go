package desired_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
	"github.com/example/memcached-operator/operator/memcached/desired"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// stable asks for a StatefulSet.
func stable(spec *v1alpha1.MemcachedSpec) { spec.Workload = v1alpha1.WorkloadStatefulSet }

// withRecords returns inputs in which the records of a plan exist, and its workload was given the newest one.
func withRecords(in inputs.Inputs, of desired.Plan, inUse ...string) inputs.Inputs {
	in.Records = of.Records
	given := &inputs.Workload{
		Template: in.Records[0].Template, Spec: in.Records[0].Spec, Record: &in.Records[0], Revision: "cache-2", Records: used(inUse),
	}
	if in.Records[0].Workload == inputs.StatefulSet {
		in.StatefulSet = given
	} else {
		in.Deployment = given
	}
	return in
}

// used returns revisions that refer to records of these names.
func used(names []string) map[string]*inputs.Record {
	records := map[string]*inputs.Record{}
	for _, name := range names {
		records["revision-of-"+name] = &inputs.Record{Name: name}
	}
	return records
}

// recordsIn lists what a plan does with records: "+" for one that it writes, "-" for one that it removes.
func recordsIn(plan desired.Plan) []string {
	var words []string
	for _, configuration := range plan.Present {
		if *configuration.GetKind() == "ControllerRevision" {
			words = append(words, "+"+*configuration.GetName())
		}
	}
	for _, reference := range plan.Absent {
		if reference.Kind == "ControllerRevision" {
			words = append(words, "-"+reference.Name)
		}
	}
	return words
}

// The revision of a StatefulSet says which record its pods were given; a Deployment says it where its pods do not see it.
func TestAWorkloadNamesItsRecord(t *testing.T) {
	in := inputsFor(testkit.MakeMemcached("cache").Size(1).Spec(stable).Obj())
	got := plan(t, in)
	set := planned[*appsv1ac.StatefulSetApplyConfiguration](t, got)
	name := got.Records[0].Name
	if set.Annotations[owned.RecordAnnotation] != name || set.Spec.Template.Annotations[owned.RecordAnnotation] != name {
		t.Errorf("the StatefulSet names %v and %v, want %s", set.Annotations, set.Spec.Template.Annotations, name)
	}
	if _, has := got.Records[0].Template.Annotations[owned.RecordAnnotation]; has {
		t.Error("the record names itself")
	}
	in = inputsFor(testkit.MakeMemcached("cache").Size(1).Obj())
	got = plan(t, in)
	deployment := planned[*appsv1ac.DeploymentApplyConfiguration](t, got)
	if deployment.Annotations[owned.RecordAnnotation] != got.Records[0].Name || deployment.Spec.Template.ObjectMetaApplyConfiguration != nil &&
		deployment.Spec.Template.Annotations[owned.RecordAnnotation] != "" {
		t.Errorf("the Deployment has the annotations %v, its template %v", deployment.Annotations, deployment.Spec.Template.Annotations)
	}
}

// A record is written before the workload, and without it the workload is not.
func TestAWorkloadNeedsItsRecord(t *testing.T) {
	got := plan(t, inputsFor(testkit.MakeMemcached("cache").Size(1).Obj()))
	var order []string
	for _, configuration := range got.Present {
		order = append(order, *configuration.GetKind())
	}
	if kinds := strings.Join(order[:2], " "); kinds != "ControllerRevision Deployment" {
		t.Errorf("the plan begins with %s", kinds)
	}
	if got.Needs[0].Object.Kind != "Deployment" || got.Needs[0].Needs.Name != got.Records[0].Name {
		t.Errorf("the plan needs %+v", got.Needs)
	}
}

// Reverting a spec gives a StatefulSet its earlier record back, and with it the earlier revision.
func TestARevertedSpecGetsItsRecordBack(t *testing.T) {
	in := inputsFor(testkit.MakeMemcached("cache").Size(1).Spec(stable).Obj())
	first := plan(t, in)
	in.Memcached.Spec.Threads = ptr.To[int32](8)
	second := plan(t, withRecords(in, first, first.Records[0].Name))
	if len(second.Records) != 2 || second.Records[0].Number != 2 || second.Records[0].Cause != inputs.ByUser {
		t.Fatalf("the records are %+v", second.Records)
	}
	in.Memcached.Spec.Threads = nil
	third := plan(t, withRecords(in, second, first.Records[0].Name, second.Records[0].Name))
	if third.Records[0].Name != first.Records[0].Name || third.Records[0].Number != 3 {
		t.Errorf("the newest record is %s with the number %d, want %s with 3", third.Records[0].Name, third.Records[0].Number, first.Records[0].Name)
	}
	if difference := cmp.Diff(planned[*appsv1ac.StatefulSetApplyConfiguration](t, first).Spec.Template,
		planned[*appsv1ac.StatefulSetApplyConfiguration](t, third).Spec.Template); difference != "" {
		t.Errorf("the template differs (-first +third):\n%s", difference)
	}
}

// The rollout of a template that the operator wanted ends with its first completion, and begins again if the template comes back.
func TestARolloutThatIsCompleteIsRecorded(t *testing.T) {
	in := inputsFor(testkit.MakeMemcached("cache").Size(1).Spec(stable).Obj())
	first := plan(t, in)
	in.Images.Agent = "agent:next"
	second := plan(t, withRecords(in, first, first.Records[0].Name))
	if newest := second.Records[0]; newest.Cause != inputs.ByOperator || newest.RolledOut {
		t.Fatalf("the newest record is %+v", newest)
	}
	complete := func(in inputs.Inputs) inputs.Inputs {
		in.StatefulSet.RolledOut = true
		return in
	}
	third := plan(t, complete(withRecords(in, second, first.Records[0].Name, second.Records[0].Name)))
	if !third.Records[0].RolledOut {
		t.Errorf("the newest record is %+v", third.Records[0])
	}
	if again := plan(t, withRecords(in, third, third.Records[0].Name)); !again.Records[0].RolledOut {
		t.Error("it is forgotten when a pod is missing")
	}
	in.Images.Agent = "agent:another"
	fourth := plan(t, complete(withRecords(in, third, third.Records[0].Name)))
	in.Images.Agent = "agent:next"
	fifth := plan(t, complete(withRecords(in, fourth, third.Records[0].Name, fourth.Records[0].Name)))
	if fourth.Records[0].RolledOut || fifth.Records[0].Name != third.Records[0].Name || fifth.Records[0].RolledOut {
		t.Errorf("the records are %+v, then %+v", fourth.Records[0], fifth.Records[0])
	}
	if first.Records[0].RolledOut || plan(t, complete(withRecords(inputsFor(in.Memcached), first, first.Records[0].Name))).Records[0].RolledOut {
		t.Error("a record that the user wanted says so as well")
	}
}

// A record goes when no revision has its template any more.
func TestRecordsThatNothingRefersToAreRemoved(t *testing.T) {
	in := inputsFor(testkit.MakeMemcached("cache").Size(1).Spec(stable).Obj())
	first := plan(t, in)
	in.Memcached.Spec.Threads = ptr.To[int32](8)
	second := plan(t, withRecords(in, first, first.Records[0].Name))
	old, newest := first.Records[0].Name, second.Records[0].Name
	if difference := cmp.Diff([]string{"+" + newest}, recordsIn(plan(t, withRecords(in, second, old, newest)))); difference != "" {
		t.Errorf("while a revision has the old template (-want +got):\n%s", difference)
	}
	if difference := cmp.Diff([]string{"+" + newest, "-" + old}, recordsIn(plan(t, withRecords(in, second, newest)))); difference != "" {
		t.Errorf("afterwards (-want +got):\n%s", difference)
	}
}

// A record goes later if only it says the version of memcached in an image that a pod still runs.
func TestTheRecordThatSaysAVersionStaysForItsPods(t *testing.T) {
	in := inputsFor(testkit.MakeMemcached("cache").Size(1).Spec(stable).Spec(func(s *v1alpha1.MemcachedSpec) { s.Image = "mine:1" }).Obj())
	untold := plan(t, in)
	in.Memcached.Spec.Version = "1.6.38"
	told := plan(t, withRecords(in, untold, untold.Records[0].Name))
	in.Memcached.Spec.Threads = ptr.To[int32](8)
	again := plan(t, withRecords(in, told, untold.Records[0].Name))
	in.Memcached.Spec.Image, in.Memcached.Spec.Version = "mine:2", "1.6.39"
	next := plan(t, withRecords(in, again, untold.Records[0].Name))
	revision := "revision-of-" + untold.Records[0].Name
	running := corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "memcached", Image: "mine:1"}}}}
	mirrored := corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "memcached", Image: "mirror/mine:1"}}}} // By a policy.
	mirrored.Labels = map[string]string{appsv1.ControllerRevisionHashLabelKey: revision}
	for _, test := range []struct {
		pods []corev1.Pod
		want []string
	}{
		{[]corev1.Pod{running}, []string{"+" + next.Records[0].Name, "-" + told.Records[0].Name}},
		{[]corev1.Pod{mirrored}, []string{"+" + next.Records[0].Name, "-" + told.Records[0].Name}},
		{nil, []string{"+" + next.Records[0].Name, "-" + again.Records[0].Name, "-" + told.Records[0].Name}},
	} {
		in := withRecords(in, next, untold.Records[0].Name)
		in.Pods, in.StatefulSet.Records[revision].Template = test.pods, untold.Records[0].Template
		if difference := cmp.Diff(test.want, recordsIn(plan(t, in))); difference != "" {
			t.Errorf("with %d pods (-want +got):\n%s", len(test.pods), difference)
		}
	}
}

// A StatefulSet of an earlier release is recorded before it is changed, together with the revision that its pods have.
func TestAnEarlierReleaseIsTakenOver(t *testing.T) {
	in := inputsFor(testkit.MakeMemcached("cache").Size(1).Spec(stable).Obj())
	in.Images.Agent = "agent:old"
	template := mustTemplate(t, in)
	in.Images.Agent = "agent:new"
	in.StatefulSet = &inputs.Workload{Template: template, Spec: in.Memcached.Spec}
	got, err := desired.MakePlan(in)
	if class, _ := reconcileerror.Describe(err); class != reconcileerror.Delayed || len(recordsIn(got)) != 0 || len(got.Recorded) != 0 {
		t.Errorf("before Kubernetes has seen the template, the plan is %+v, %v", got, err)
	}
	in.StatefulSet.Revision = "cache-5d"
	got = plan(t, in)
	if len(recordsIn(got)) != 2 || len(got.Records) != 2 {
		t.Fatalf("the records are %+v", got.Records)
	}
	now, before := got.Records[0], got.Records[1]
	if !before.TakenOver || before.Revision != "cache-5d" || now.TakenOver || now.Cause != inputs.ByOperator || now.Number <= before.Number {
		t.Errorf("the records are %+v", got.Records)
	}
	if !got.Recorded[0].Changed {
		t.Error("the template counts as unchanged")
	}
	for _, configuration := range got.Present {
		if written, ok := configuration.(*appsv1ac.ControllerRevisionApplyConfiguration); ok && *written.Revision != inputs.RecordNamed(got.Records, *written.Name).Number {
			t.Errorf("%s is written with the number %d, want %d", *written.Name, *written.Revision, inputs.RecordNamed(got.Records, *written.Name).Number)
		}
	}
}

// A template that stays is not written only to name its record: a Deployment would replace its pods for that.
func TestATemplateThatIsTakenOverIsNotWritten(t *testing.T) {
	for _, change := range []func(*v1alpha1.MemcachedSpec){stable, func(*v1alpha1.MemcachedSpec) {}} {
		in := inputsFor(testkit.MakeMemcached("cache").Size(1).Spec(change).Obj())
		given := &inputs.Workload{Template: plan(t, in).Records[0].Template, Spec: in.Memcached.Spec, Revision: "cache-5d"}
		in.StatefulSet, in.Deployment = nil, given
		if inputs.StablePods(in.Memcached.Spec) {
			in.StatefulSet, in.Deployment = given, nil
		}
		got := plan(t, in)
		if len(recordsIn(got)) != 1 || got.Recorded[0].Changed || !got.Records[0].TakenOver {
			t.Errorf("the plan is %+v", got)
		}
		raw, err := json.Marshal(got.Present)
		if err != nil || strings.Contains(string(raw), owned.RecordAnnotation) {
			t.Errorf("%v: the workload names its record: %s", err, raw)
		}
	}
}

// Going back to the template of an earlier release leaves it as that release wrote it.
func TestATemplateThatWasTakenOverComesBack(t *testing.T) {
	in := inputsFor(testkit.MakeMemcached("cache").Size(1).Spec(stable).Obj())
	in.StatefulSet = &inputs.Workload{Template: mustTemplate(t, in), Spec: in.Memcached.Spec, Revision: "cache-5d"}
	first := plan(t, in)
	in.Memcached.Spec.Threads = ptr.To[int32](8)
	second := plan(t, withRecords(in, first, first.Records[0].Name))
	in.Memcached.Spec.Threads = nil
	third := plan(t, withRecords(in, second, first.Records[0].Name, second.Records[0].Name))
	if !third.Records[0].TakenOver || third.Records[0].Revision != "cache-5d" || !third.Recorded[0].Changed {
		t.Errorf("the newest record is %+v", third.Records[0])
	}
}

// The write of a workload may fail after its record is written. What the workload has is what its pods were given, so the user who
// reverts the spec gets nothing else along with it.
func TestARecordThatWasNeverGivenDecidesNothing(t *testing.T) {
	in := inputsFor(testkit.MakeMemcached("cache").Size(1).Obj())
	in.Images.Default = "1.6.18"
	first := plan(t, in)
	in.Images.Default = "1.6.45"
	in.Memcached.Spec.Threads = ptr.To[int32](8)
	second := plan(t, withRecords(in, first))
	in.Memcached.Spec.Threads = nil
	in.Records = second.Records
	named := inputs.RecordNamed(in.Records, first.Records[0].Name)
	if named == nil {
		t.Fatalf("the record of what the pods have is gone: %+v", second.Records)
	}
	in.Deployment = &inputs.Workload{Template: named.Template, Spec: named.Spec, Record: named}
	third := plan(t, in)
	if third.Pending == nil || third.Records[0].Name != first.Records[0].Name {
		t.Errorf("pending is %+v, the newest record %s, want %s", third.Pending, third.Records[0].Name, first.Records[0].Name)
	}
	for _, word := range slices.Concat(recordsIn(second), recordsIn(third)) {
		if word == "-"+first.Records[0].Name {
			t.Error("the record that the workload names is removed")
		}
	}
}

// A plan is outdated as soon as another process has written a record that it writes or removes.
func TestAPlanKnowsTheRecordsThatItWasMadeFrom(t *testing.T) {
	in := inputsFor(testkit.MakeMemcached("cache").Size(1).Spec(stable).Obj())
	first := plan(t, in)
	in.Memcached.Spec.Threads = ptr.To[int32](8)
	second := plan(t, withRecords(in, first, first.Records[0].Name))
	in.Memcached.Spec.Threads = ptr.To[int32](2)
	in = withRecords(in, second, second.Records[0].Name)
	for i := range in.Records {
		in.Records[i].ResourceVersion = strconv.Itoa(7 + i)
	}
	third := plan(t, in)
	versions := map[string]string{}
	for reference, version := range third.ResourceVersions {
		versions[reference.Name] = version
	}
	want := map[string]string{third.Records[0].Name: "", first.Records[0].Name: "8"} // One is new, and one is removed.
	if difference := cmp.Diff(want, versions); difference != "" {
		t.Errorf("the plan knows other versions (-want +got):\n%s", difference)
	}
	in.Memcached.Spec.Threads = ptr.To[int32](8)
	if again := plan(t, in); again.ResourceVersions[again.Needs[0].Needs] != "7" {
		t.Errorf("the plan that writes %s again knows %v", second.Records[0].Name, again.ResourceVersions)
	}
	in.Memcached.Spec.Workload = v1alpha1.WorkloadDeployment
	in.StatefulSet, in.Deployment = nil, &inputs.Workload{Complete: true, Template: in.StatefulSet.Template, Spec: in.StatefulSet.Spec}
	other := plan(t, in)
	for _, removed := range in.Records {
		if version := other.ResourceVersions[owned.Reference{
			GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("ControllerRevision"), Namespace: in.Memcached.Namespace, Name: removed.Name,
		}]; version != removed.ResourceVersion {
			t.Errorf("a plan that removes %s with its workload knows version %q, want %q", removed.Name, version, removed.ResourceVersion)
		}
	}
}
