package inputs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/owned"
)

// CacheLabel is on every record and every pull pod, and names the cache. They have none of the labels that select the pods of a cache:
// otherwise the StatefulSet controller would take a record without an owner for its own, and Services would select a pull pod.
const CacheLabel = "cache.example.com/memcached"

// NoteAnnotation holds what can change about a Record, in JSON: unlike an annotation, the data of a ControllerRevision cannot change.
const NoteAnnotation = "cache.example.com/note"

// Cause says who wanted a template.
type Cause string

const (
	// ByUser means that the user changed the spec, or approved this very change.
	ByUser Cause = "User"

	// ByOperator means that only a new version of the operator wanted it.
	ByOperator Cause = "Operator"
)

// Record is a pod template that the operator rendered and gave a workload. It is a ControllerRevision that the cache owns: its data
// cannot be changed, and those who may only edit workloads cannot write it. What runs is read from records and not from live objects,
// which others may have changed.
type Record struct {
	// Name of the ControllerRevision. It depends on Workload and Template.
	Name string `json:"-"`
	// ResourceVersion is that of the ControllerRevision as it was read.
	ResourceVersion string `json:"-"`
	// Workload is the kind of the workload: Deployment or StatefulSet.
	Workload string `json:"-"`
	// Template is the pod template without RecordAnnotation.
	Template *corev1ac.PodTemplateSpecApplyConfiguration `json:"-"`
	// Number is higher than that of all records that were given earlier.
	Number int64 `json:"-"`
	// Spec is the part of the spec that the template was last rendered for.
	Spec v1alpha1.MemcachedSpec `json:"spec"`
	// Cause says who wanted the template.
	Cause Cause `json:"cause"`
	// RolledOut is true if that is ByOperator, and all pods have had the template and were ready. What happens to the pods afterwards is
	// no part of its rollout.
	RolledOut bool `json:"rolledOut,omitempty"`
	// TakenOver is true if an earlier release gave the template, which then does not name this record. Revision is the revision that the
	// StatefulSet controller made of it, and Hash what the workload had in the annotation applied-hash: another hash means that the
	// workload was given something else since.
	TakenOver bool   `json:"takenOver,omitempty"`
	Revision  string `json:"revision,omitempty"`
	Hash      string `json:"hash,omitempty"`
}

// recordData is the data of a record.
type recordData struct {
	Workload string                                      `json:"workload"`
	Template *corev1ac.PodTemplateSpecApplyConfiguration `json:"template"`
}

// decodeRecord returns the record that a ControllerRevision holds.
func decodeRecord(revision *appsv1.ControllerRevision) (Record, error) {
	record, data := Record{}, recordData{}
	err := json.Unmarshal([]byte(revision.Annotations[NoteAnnotation]), &record)
	if err == nil {
		err = json.Unmarshal(revision.Data.Raw, &data)
	}
	if err == nil && data.Template == nil {
		err = errors.New("it has no template")
	}
	if err != nil {
		return Record{}, fmt.Errorf("the record %s/%s cannot be read: %w", revision.Namespace, revision.Name, err)
	}
	record.Name, record.Number, record.ResourceVersion = revision.Name, revision.Revision, revision.ResourceVersion
	record.Workload, record.Template = data.Workload, data.Template
	return record, nil
}

// Data returns the data of the record.
func (r Record) Data() []byte {
	raw, _ := json.Marshal(recordData{Workload: r.Workload, Template: r.Template}) // A pod template can always be encoded.
	return raw
}

// Note returns what NoteAnnotation holds.
func (r Record) Note() string {
	raw, _ := json.Marshal(r) // A spec and texts can always be encoded.
	return string(raw)
}

// SameTemplate reports whether two records have the same data.
func (r Record) SameTemplate(other Record) bool { return bytes.Equal(r.Data(), other.Data()) }

// records returns the records of a cache, the newest first. A record without an owner counts: `kubectl delete --cascade=orphan` of an
// earlier cache of that name leaves its pods and records behind.
func records(ctx context.Context, reader client.Reader, owner *v1alpha1.Memcached) ([]Record, error) {
	found := &appsv1.ControllerRevisionList{}
	labels := client.MatchingLabels{owned.LabelManagedBy: owned.Manager, CacheLabel: owner.Name}
	if err := reader.List(ctx, found, client.InNamespace(owner.Namespace), labels); err != nil {
		return nil, fmt.Errorf("list the records of %s/%s: %w", owner.Namespace, owner.Name, err)
	}
	var records []Record
	for i := range found.Items {
		if controller := metav1.GetControllerOf(&found.Items[i]); controller != nil && controller.UID != owner.UID {
			continue
		}
		record, err := decodeRecord(&found.Items[i])
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	slices.SortFunc(records, func(a, b Record) int {
		return cmp.Or(cmp.Compare(b.Number, a.Number), cmp.Compare(a.Name, b.Name))
	})
	return records, nil
}

// Newest returns the newest record of a kind of workload, nil if there is none.
func Newest(records []Record, workload string) *Record {
	return find(records, func(r *Record) bool { return r.Workload == workload })
}

// RecordNamed returns the record of a name, nil if there is none.
func RecordNamed(records []Record, name string) *Record {
	return find(records, func(r *Record) bool { return r.Name == name })
}

// find returns the first record that is wanted, nil if there is none.
func find(records []Record, wanted func(*Record) bool) *Record {
	for i := range records {
		if wanted(&records[i]) {
			return &records[i]
		}
	}
	return nil
}

// TemplateOf returns the pod template of a revision of a StatefulSet, which holds it as a patch of the StatefulSet.
func TemplateOf(revision *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	var set struct {
		Spec struct {
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	err := json.Unmarshal(revision.Data.Raw, &set)
	return &set.Spec.Template, err
}

// RecordOf returns the record of the template that a revision of a StatefulSet has, nil if there is none.
func RecordOf(records []Record, revision *appsv1.ControllerRevision) *Record {
	template, err := TemplateOf(revision)
	if err != nil {
		return nil // The comparison of a pod with this revision reports the error.
	}
	if named := template.Annotations[owned.RecordAnnotation]; named != "" {
		return RecordNamed(records, named)
	}
	return find(records, func(r *Record) bool { return r.Revision != "" && r.Revision == revision.Name })
}
