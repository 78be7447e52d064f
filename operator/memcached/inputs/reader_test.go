package inputs_test

import (
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// What has run the nodes until now goes when its successor is settled: so one that has yet to hear of the size is not.
func TestAWorkloadOfAnotherSizeIsNotSettled(t *testing.T) {
	for size, settled := range map[int32]bool{0: true, 3: false} {
		owner := testkit.MakeMemcached("cache").Namespace("default").UID("owner").Size(size).Obj()
		deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "cache", Generation: 1,
			Annotations:     map[string]string{"cache.example.com/applied-template": `{"spec":{}}`, "cache.example.com/applied-spec": `{"size":0}`},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, v1alpha1.GroupVersion.WithKind(v1alpha1.MemcachedKind))},
		}, Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](0)}, Status: appsv1.DeploymentStatus{ObservedGeneration: 1}}
		reader := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(deployment).WithStatusSubresource(deployment).Build()
		none := func() (inputs.Features, error) { return inputs.Features{}, nil }
		inputs := &inputs.Reader{Cached: reader, Live: reader, Features: none}
		in, err := inputs.Read(t.Context(), owner, metav1.Now())
		if err != nil || in.Deployment == nil || in.Deployment.Complete != settled {
			t.Errorf("of a cache of %d, a Deployment of none is %+v, %v; want it settled: %t", size, in.Deployment, err, settled)
		}
	}
}

// The record that a workload names says what it was given, not the newest one, which may never have been.
func TestAWorkloadWasGivenTheRecordThatItNames(t *testing.T) {
	owner := testkit.MakeMemcached("cache").Namespace("default").UID("owner").Size(1).Obj()
	own := []metav1.OwnerReference{*metav1.NewControllerRef(owner, v1alpha1.GroupVersion.WithKind(v1alpha1.MemcachedKind))}
	record := func(number int64, note inputs.Record) *appsv1.ControllerRevision {
		return &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: fmt.Sprintf("record-%d", number), OwnerReferences: own, Annotations: map[string]string{inputs.NoteAnnotation: note.Note()},
				Labels: map[string]string{"app.kubernetes.io/managed-by": "memcached-operator", inputs.CacheLabel: "cache"},
			},
			Revision: number, Data: runtime.RawExtension{Raw: []byte(`{"workload":"Deployment","template":{"metadata":{"name":"` + fmt.Sprint(number) + `"}}}`)},
		}
	}
	takenOver := record(1, inputs.Record{TakenOver: true, Hash: "old"})
	for name, test := range map[string]struct {
		annotations map[string]string
		want        string
	}{
		"it names an older one":                {map[string]string{owned.RecordAnnotation: "record-2"}, "record-2"},
		"it names one that is gone":            {map[string]string{owned.RecordAnnotation: "record-9"}, "record-3"},
		"an earlier release wrote it":          {map[string]string{"cache.example.com/applied-hash": "old"}, "record-1"},
		"an earlier release has written since": {map[string]string{"cache.example.com/applied-hash": "other"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "cache", OwnerReferences: own, Annotations: test.annotations}}
			reader := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).
				WithObjects(deployment, takenOver.DeepCopy(), record(2, inputs.Record{}), record(3, inputs.Record{})).Build()
			none := func() (inputs.Features, error) { return inputs.Features{}, nil }
			in, err := (&inputs.Reader{Cached: reader, Live: reader, Features: none}).Read(t.Context(), owner, metav1.Now())
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if in.Deployment.Record != nil {
				got = in.Deployment.Record.Name
			}
			if got != test.want {
				t.Errorf("the workload was given %q, want %q", got, test.want)
			}
		})
	}
}

// A record that the cache of the operator does not show in use is removed. The workload may have it already, and the cache not know it yet:
// then the record that it named before would count as what it was given, and Kubernetes would replace its pods.
func TestAWorkloadMayHaveTheNewestRecordBeforeTheCacheKnows(t *testing.T) {
	owner := testkit.MakeMemcached("cache").Namespace("default").UID("owner").Size(1).Obj()
	own := []metav1.OwnerReference{*metav1.NewControllerRef(owner, v1alpha1.GroupVersion.WithKind(v1alpha1.MemcachedKind))}
	meta := func(annotations map[string]string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "default", Name: "cache", UID: "workload", OwnerReferences: own, Annotations: annotations}
	}
	kinds := map[string]func(map[string]string) client.Object{
		inputs.Deployment:  func(of map[string]string) client.Object { return &appsv1.Deployment{ObjectMeta: meta(of)} },
		inputs.StatefulSet: func(of map[string]string) client.Object { return &appsv1.StatefulSet{ObjectMeta: meta(of)} },
	}
	for kind, workload := range kinds {
		if kind == inputs.StatefulSet {
			owner.Spec.Workload = v1alpha1.WorkloadStatefulSet
		} else {
			owner.Spec.Workload = v1alpha1.WorkloadDeployment
		}
		var records []client.Object
		for number := range int64(2) {
			name := fmt.Sprintf("record-%d", number)
			note := inputs.Record{TakenOver: number == 0, Hash: "old"}
			records = append(records, &appsv1.ControllerRevision{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: "default", Name: name, OwnerReferences: own, Annotations: map[string]string{inputs.NoteAnnotation: note.Note()},
					Labels: map[string]string{owned.LabelManagedBy: owned.Manager, inputs.CacheLabel: "cache"},
				},
				Revision: number, Data: runtime.RawExtension{Raw: []byte(`{"workload":"` + kind + `","template":{"metadata":{"name":"` + name + `"}}}`)},
			})
		}
		for name, before := range map[string]map[string]string{
			"named another one": {owned.RecordAnnotation: "record-0"}, "was an earlier release's": {"cache.example.com/applied-hash": "old"},
		} {
			with := func(object client.Object) client.Reader {
				return fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(append(slices.Clone(records), object)...).Build()
			}
			none := func() (inputs.Features, error) { return inputs.Features{}, nil }
			reader := &inputs.Reader{
				Cached: with(workload(before)), Live: with(workload(map[string]string{owned.RecordAnnotation: "record-1"})), Features: none,
			}
			in, err := reader.Read(t.Context(), owner, metav1.Now())
			if err != nil {
				t.Fatal(err)
			}
			given := in.Deployment
			if kind == inputs.StatefulSet {
				given = in.StatefulSet
			}
			if given.Record == nil || given.Record.Name != "record-1" || *given.Names != "record-1" {
				t.Errorf("a %s that %s: it was given %+v", kind, name, given.Record)
			}
		}
	}
}

// `kubectl delete --cascade=orphan` of a StatefulSet leaves its pods and revisions without an owner. What the pods were given in the middle
// of an update is still recorded.
func TestRecordsOfAnOrphanedStatefulSetAreInUse(t *testing.T) {
	owner := testkit.MakeMemcached("cache").Namespace("default").UID("owner").Size(1).Obj()
	owner.Spec.Workload = v1alpha1.WorkloadStatefulSet
	labels := owned.Identity{Name: inputs.ApplicationName, Instance: "cache"}.Selector()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "cache-0", Labels: labels}}
	objects := []client.Object{pod}
	for number := range int64(3) {
		name := fmt.Sprintf("record-%d", number)
		objects = append(objects, &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: name, Annotations: map[string]string{inputs.NoteAnnotation: `{"spec":{"size":0}}`},
				Labels: map[string]string{owned.LabelManagedBy: owned.Manager, inputs.CacheLabel: "cache"},
			},
			Revision: number, Data: runtime.RawExtension{Raw: []byte(`{"workload":"StatefulSet","template":{"metadata":{"name":"` + name + `"}}}`)},
		})
	}
	for _, name := range []string{"record-1", "record-2"} {
		data := `{"spec":{"template":{"metadata":{"annotations":{"` + owned.RecordAnnotation + `":"` + name + `"}}}}}`
		objects = append(objects, &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "cache-" + name, Labels: labels}, Data: runtime.RawExtension{Raw: []byte(data)},
		})
	}
	reader := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(objects...).Build()
	none := func() (inputs.Features, error) { return inputs.Features{}, nil }
	in, err := (&inputs.Reader{Cached: reader, Live: reader, Features: none}).Read(t.Context(), owner, metav1.Now())
	if err != nil {
		t.Fatal(err)
	}
	if in.StatefulSet == nil || in.StatefulSet.Uses("record-0") || !in.StatefulSet.Uses("record-1") || !in.StatefulSet.Uses("record-2") {
		t.Errorf("the StatefulSet was given %+v", in.StatefulSet)
	}
}

// The caches of the operator may have the StatefulSet before its revisions. A record that a revision refers to must not count as unused
// meanwhile: it would be removed, and the pods of the revision could not be compared any more.
func TestARecordIsInUseThoughItsRevisionIsNotCachedYet(t *testing.T) {
	owner := testkit.MakeMemcached("cache").Namespace("default").UID("owner").Size(1).Obj()
	owner.Spec.Workload = v1alpha1.WorkloadStatefulSet
	own := []metav1.OwnerReference{*metav1.NewControllerRef(owner, v1alpha1.GroupVersion.WithKind(v1alpha1.MemcachedKind))}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "cache", OwnerReferences: own, Annotations: map[string]string{owned.RecordAnnotation: "record-2"},
	}}
	var records []client.Object
	for number := range int64(3) {
		name := fmt.Sprintf("record-%d", number)
		records = append(records, &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: name, OwnerReferences: own, Annotations: map[string]string{inputs.NoteAnnotation: `{"spec":{"size":0}}`},
				Labels: map[string]string{owned.LabelManagedBy: owned.Manager, inputs.CacheLabel: "cache"},
			},
			Revision: number, Data: runtime.RawExtension{Raw: []byte(`{"workload":"StatefulSet","template":{"metadata":{"name":"` + name + `"}}}`)},
		})
	}
	revision := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "cache-1", Labels: owned.Identity{Name: inputs.ApplicationName, Instance: "cache"}.Selector()},
		Data:       runtime.RawExtension{Raw: []byte(`{"spec":{"template":{"metadata":{"annotations":{"` + owned.RecordAnnotation + `":"record-1"}}}}}`)},
	}
	none := func() (inputs.Features, error) { return inputs.Features{}, nil }
	live := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(append(records, set, revision)...).Build()
	for name, cached := range map[string][]client.Object{"no revision": {set}, "only records": append(slices.Clone(records), set)} {
		reader := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(cached...).Build()
		in, err := (&inputs.Reader{Cached: reader, Live: live, Features: none}).Read(t.Context(), owner, metav1.Now())
		if err != nil {
			t.Fatal(err)
		}
		if in.StatefulSet == nil || !in.StatefulSet.Uses("record-1") || in.StatefulSet.Uses("record-0") {
			t.Errorf("%s is cached: the StatefulSet was given %+v", name, in.StatefulSet)
		}
	}
}

// What the StatefulSet controller said about pods counts, unless it has not seen yet what the cache asks for now.
func TestEventsSayWhyPodsCannotBeCreated(t *testing.T) {
	const refused = "exceeded quota"
	event := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "event"}, Reason: "FailedCreate", Message: refused, LastTimestamp: testkit.Now,
		InvolvedObject: corev1.ObjectReference{UID: "set"},
	}
	reader := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(event).
		WithIndex(event, "involvedObject.uid", func(client.Object) []string { return []string{string(event.InvolvedObject.UID)} }).Build()
	for name, test := range map[string]struct {
		pods               int32
		seen, newSpec      bool
		want               string
		withoutStatefulSet bool
	}{
		"a pod is missing":                     {pods: 1, seen: true, want: refused},
		"none is missing":                      {pods: 2, seen: true},
		"a new spec, already seen":             {pods: 1, seen: true, newSpec: true, want: refused},
		"a new spec, not seen yet":             {pods: 1, newSpec: true},
		"a change by others, not seen yet":     {pods: 1, want: refused},
		"a cache that does not have the nodes": {withoutStatefulSet: true},
	} {
		t.Run(name, func(t *testing.T) {
			owner := testkit.MakeMemcached("cache").Namespace("default").Generation(2).Obj()
			owner.Status.ObservedGeneration = 2
			set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "cache", UID: "set", Generation: 2}}
			set.Spec.Replicas, set.Status.Replicas, set.Status.ObservedGeneration = ptr.To[int32](2), test.pods, 1
			if test.seen {
				set.Status.ObservedGeneration = 2
			}
			if test.newSpec {
				owner.Status.ObservedGeneration = 1
			}
			if test.withoutStatefulSet {
				set = nil
			}
			got, err := (&inputs.Reader{Live: reader}).CreateFailure(t.Context(), owner, set, testkit.Now.Time)
			if err != nil || got != test.want {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
		})
	}
}
