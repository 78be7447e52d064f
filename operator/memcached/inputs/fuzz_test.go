package inputs

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/example/memcached-operator/operator/internal/testkit"
)

const (
	aTemplate = `{"metadata":{"labels":{"app":"cache"}},"spec":{"containers":[{"name":"memcached","image":"memcached:1","args":["-m","64"],` +
		`"resources":{"limits":{"memory":"1Gi","cpu":"100m"}}}],"tolerations":[{"key":"k"}]}}`
	aSpec = `{"size":2,"cacheMemory":"64Mi","updates":{"policy":"Immediate"}}`
)

// A record that can be read is the same after it was written again; of one that cannot, one line says which it is.
func FuzzRecord(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"spec":` + aSpec + `,"cause":"User","rolledOut":true,"takenOver":true,"revision":"cache-1","hash":"a"}`, `{"workload":"StatefulSet","template":` + aTemplate + `}`},
		{``, ``}, {`{`, `{"workload":"Deployment"}`}, {`null`, `null`}, {`{"spec":{"size":"x\n"}}`, `{"template":{"spec":{"containers":[{"name":7}]}}}`}, {`{}`, `{"template":{}}`},
		{`{"spec":{"resources":{"limits":{"memory":"1e999999999"}}}}`, `{"template":{"spec":{"containers":[{"resources":{"limits":{"memory":"-1E"}}}]}}}`},
		{`{"spec":{"cacheMemory":"0.1"}}`, `{"template":{"spec":{"containers":[null]}}}`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, note, data string) {
		revision := &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "cache-record-1", Annotations: map[string]string{NoteAnnotation: note}},
			Data:       runtime.RawExtension{Raw: []byte(data)}, Revision: 3,
		}
		record, err := decodeRecord(revision)
		testkit.OneLine(t, err)
		if err != nil {
			if !strings.Contains(err.Error(), "default/cache-record-1") || len(err.Error()) > 1000+len(note)+len(data) {
				t.Errorf("the error is %v", err)
			}
			return
		}
		revision.Annotations[NoteAnnotation], revision.Data.Raw = record.Note(), record.Data()
		again, err := decodeRecord(revision)
		if err != nil || again.Note() != record.Note() || !again.SameTemplate(record) || again.Workload != record.Workload {
			t.Errorf("%s %s becomes %s %s, %v", note, data, again.Note(), again.Data(), err)
		}
	})
}

// What releases before 0.4.0 wrote into annotations is taken over as it is, or not at all.
func FuzzReleasedRecord(f *testing.F) {
	f.Add(aTemplate, aSpec)
	f.Add(`{"spec":null}`, `{}`)
	f.Add(`{"spec":{}}`, `null`)
	f.Add(`[]`, `{"size":1e9}`)
	f.Fuzz(func(t *testing.T, template, spec string) {
		found := releasedRecord(map[string]string{releasedTemplateAnnotation: template, releasedSpecAnnotation: spec})
		if found == nil {
			return
		}
		if found.Template == nil || found.Template.Spec == nil || found.Record != nil {
			t.Fatalf("%s is taken over as %+v", template, found)
		}
		rawTemplate, err := json.Marshal(found.Template)
		if err != nil {
			t.Fatal(err)
		}
		rawSpec, err := json.Marshal(found.Spec)
		if err != nil {
			t.Fatal(err)
		}
		again := releasedRecord(map[string]string{releasedTemplateAnnotation: string(rawTemplate), releasedSpecAnnotation: string(rawSpec)})
		if again == nil || !(Record{Template: again.Template}).SameTemplate(Record{Template: found.Template}) {
			t.Errorf("%s becomes %s", template, rawTemplate)
		}
	})
}

// Every revision of a StatefulSet belongs to the record that it names, or to none.
func FuzzRecordOf(f *testing.F) {
	f.Add(`{"spec":{"template":{"metadata":{"annotations":{"cache.example.com/record":"one"}},"spec":{"containers":[]}}}}`, "cache-1")
	f.Add(`{"spec":{"template":{"$patch":"replace"}}}`, "cache-2")
	f.Add(`{`, "")
	records := []Record{{Name: "one"}, {Name: "two", Revision: "cache-2"}, {Name: "", Revision: ""}}
	f.Fuzz(func(t *testing.T, data, name string) {
		revision := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: runtime.RawExtension{Raw: []byte(data)}}
		template, err := TemplateOf(revision)
		testkit.OneLine(t, err)
		if template == nil {
			t.Fatal("there is no template")
		}
		found := RecordOf(records, revision)
		if found != nil && (found.Name == "" || found.Name == "two" && name != "cache-2") {
			t.Errorf("revision %q is of the record %+v", name, found)
		}
	})
}

// All who may annotate pods write these annotations. What cannot be read pulls nothing, and says nothing.
func FuzzPull(f *testing.F) {
	f.Add(`{"container":"memcached","image":"memcached:1"}`, `{"Message":"the image cannot be pulled","Refused":true}`)
	f.Add(`{"container":7}`, `{"Message":"a\nb"}`)
	f.Add(``, `{"Slow":true}`)
	f.Fuzz(func(t *testing.T, pull, problem string) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pull", Annotations: map[string]string{PullAnnotation: pull, PullProblemAnnotation: problem}}}
		wanted := PulledBy(pod)
		if raw, _ := json.Marshal(wanted); !json.Valid([]byte(pull)) && wanted != (Pulled{}) {
			t.Errorf("%s is read as %s", pull, raw)
		}
		found, pulled := PullOf(pod, pod.CreationTimestamp.Time)
		if pulled || found.Message == "" && !reflect.DeepEqual(found, PullProblem{}) {
			t.Errorf("%s says %+v", problem, found)
		}
	})
}
