package inputs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/owned"
)

// CacheLabel is on every record and every pull pod, and names the cache. They have none of the labels that select the pods of a cache:
// otherwise the StatefulSet controller would take a record without an owner for its own, and Services would select a pull pod.
const CacheLabel = "cache.example.com/memcached"

// The annotations of a record. Unlike its data, they can change.
const (
	// RecordSpecAnnotation holds the part of the spec that the template was last rendered for, in JSON.
	RecordSpecAnnotation = "cache.example.com/spec"

	// RecordRevisionAnnotation is on the record of a template that an earlier release gave a StatefulSet, and names the revision
	// that has it: the template itself does not name its record. It is empty on the record of a Deployment.
	RecordRevisionAnnotation = "cache.example.com/revision"

	// RecordHashAnnotation is on the record of a template that an earlier release gave a workload, and holds the hash that this
	// release had put into an annotation of the workload. Another hash on the workload means that it was given something else since.
	RecordHashAnnotation = "cache.example.com/hash"

	// RecordCauseAnnotation says who wanted the template: a Cause.
	RecordCauseAnnotation = "cache.example.com/cause"

	// RecordRolledOutAnnotation is on the record of a template that the operator wanted, once all pods have had it and were ready.
	// Whatever happens to the pods afterwards is no part of its rollout.
	RecordRolledOutAnnotation = "cache.example.com/rolled-out"
)

// Cause says who wanted a template.
type Cause string

const (
	// ByUser means that the user changed the spec, or approved this very change.
	ByUser Cause = "User"

	// ByOperator means that only a new version of the operator wanted it.
	ByOperator Cause = "Operator"
)

// Record is a pod template that the operator rendered and gave a workload. It is a ControllerRevision that the cache owns: its data
// cannot be changed, and whoever may only edit workloads cannot write it. What runs is read from records and not from live
// objects, which others may have changed.
type Record struct {
	// Name of the ControllerRevision. It depends on Workload and Template.
	Name string

	// Workload is the kind of the workload: Deployment or StatefulSet.
	Workload string

	// Template is the pod template without RecordAnnotation.
	Template *corev1ac.PodTemplateSpecApplyConfiguration

	// Spec is the part of the spec that the template was last rendered for.
	Spec v1alpha1.MemcachedSpec

	// Number is higher than that of all records that were given earlier.
	Number int64

	// TakenOver is true if an earlier release gave the template, which then does not name this record. Revision is the revision
	// that the StatefulSet controller made of it.
	TakenOver bool
	Revision  string

	// Hash is what the workload of an earlier release had in the annotation applied-hash.
	Hash string

	// Cause says who wanted the template.
	Cause Cause

	// RolledOut is true if that is ByOperator, and all pods have had the template and were ready.
	RolledOut bool
}

// RecordData is the data of a record.
type RecordData struct {
	Workload string                                      `json:"workload"`
	Template *corev1ac.PodTemplateSpecApplyConfiguration `json:"template"`
}

// decodeRecord returns the record that a ControllerRevision holds.
func decodeRecord(revision *appsv1.ControllerRevision) (Record, error) {
	record := Record{Name: revision.Name, Number: revision.Revision, Cause: Cause(revision.Annotations[RecordCauseAnnotation])}
	record.Revision, record.TakenOver = revision.Annotations[RecordRevisionAnnotation], hasKey(revision.Annotations, RecordRevisionAnnotation)
	record.RolledOut = hasKey(revision.Annotations, RecordRolledOutAnnotation)
	record.Hash = revision.Annotations[RecordHashAnnotation]
	var data RecordData
	if err := json.Unmarshal(revision.Data.Raw, &data); err != nil {
		return Record{}, fmt.Errorf("the record %s/%s: %w", revision.Namespace, revision.Name, err)
	}
	record.Workload, record.Template = data.Workload, data.Template
	if record.Template == nil {
		return Record{}, fmt.Errorf("the record %s/%s has no template", revision.Namespace, revision.Name)
	}
	if err := json.Unmarshal([]byte(revision.Annotations[RecordSpecAnnotation]), &record.Spec); err != nil {
		return Record{}, fmt.Errorf("the annotation %s of the record %s/%s: %w", RecordSpecAnnotation, revision.Namespace, revision.Name, err)
	}
	return record, nil
}

// EncodeRecord returns the data of a record.
func EncodeRecord(record Record) ([]byte, error) {
	raw, err := json.Marshal(RecordData{Workload: record.Workload, Template: record.Template})
	if err != nil {
		return nil, fmt.Errorf("encode the pod template: %w", err)
	}
	return raw, nil
}

// SameTemplate reports whether two records have the same data.
func SameTemplate(a, b Record) (bool, error) {
	left, err := EncodeRecord(a)
	if err != nil {
		return false, err
	}
	right, err := EncodeRecord(b)
	return bytes.Equal(left, right), err
}

func hasKey(of map[string]string, key string) bool {
	_, has := of[key]
	return has
}

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
	for i := range records {
		if records[i].Workload == workload {
			return &records[i]
		}
	}
	return nil
}

// RecordNamed returns the record of a name, nil if there is none.
func RecordNamed(records []Record, name string) *Record {
	i := slices.IndexFunc(records, func(r Record) bool { return r.Name == name })
	if i < 0 {
		return nil
	}
	return &records[i]
}

// RecordOf returns the record of the template that a revision of a StatefulSet has, nil if there is none.
func RecordOf(records []Record, revision *appsv1.ControllerRevision) *Record {
	var set struct {
		Spec struct {
			Template struct {
				Metadata metav1.ObjectMeta `json:"metadata"`
			} `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(revision.Data.Raw, &set); err != nil {
		return nil // Whoever compares pods with this revision reports the error.
	}
	if named := set.Spec.Template.Metadata.Annotations[owned.RecordAnnotation]; named != "" {
		return RecordNamed(records, named)
	}
	i := slices.IndexFunc(records, func(r Record) bool { return r.Revision != "" && r.Revision == revision.Name })
	if i < 0 {
		return nil
	}
	return &records[i]
}

// recordsOf returns the records that revisions refer to, by the names of the revisions.
func recordsOf(records []Record, revisions []appsv1.ControllerRevision) map[string]*Record {
	found := map[string]*Record{}
	for i := range revisions {
		if record := RecordOf(records, &revisions[i]); record != nil {
			found[revisions[i].Name] = record
		}
	}
	return found
}
