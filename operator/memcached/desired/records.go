package desired

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/update/pending"
)

var recordKind = appsv1.SchemeGroupVersion.WithKind("ControllerRevision")

// takeOverDelay is when to check again whether the StatefulSet controller has seen a template.
const takeOverDelay = 2 * time.Second

// recordPlan is what a decision means for the records of a workload.
type recordPlan struct {
	// all are the records that there are then, the newest first: that of the decision.
	all []inputs.Record
	// write are the records to apply, in this order, and remove those that nothing refers to any more.
	write, remove []inputs.Record
}

// planRecords returns the records after a decision. A workload of an earlier release gets a record of what it has, before that of
// the decision.
func planRecords(in inputs.Inputs, kind string, given *inputs.Workload, decision pending.Decision) (recordPlan, error) {
	var plan recordPlan
	plan.all = slices.DeleteFunc(slices.Clone(in.Records), func(r inputs.Record) bool { return r.Workload != kind })
	keep := map[string]bool{}
	if given != nil && given.Record != nil {
		keep[given.Record.Name] = true // The workload has it until the decision is written.
	}
	if given != nil && given.Record == nil {
		if kind == inputs.StatefulSet && given.Revision == "" {
			return plan, reconcileerror.Waiting(v1alpha1.ReasonNodesUpdating, takeOverDelay, fmt.Errorf(
				"StatefulSet %s is not changed before Kubernetes has processed its latest change", in.Memcached.Name))
		}
		record := newRecord(in, kind, given.Template)
		record.Spec, record.TakenOver, record.Revision, record.Cause = given.Spec, true, given.Revision, inputs.ByUser
		record.Hash = given.Hash
		plan.add(record)
		plan.write, keep[record.Name] = append(plan.write, plan.all[0]), true
	}
	decided := newRecord(in, kind, decision.Given.Template)
	decided.Cause = decision.Cause
	decided = plan.existing(decided)
	if decided.Cause == inputs.ByOperator && given != nil && given.RolledOut && given.Record.Name == decided.Name {
		decided.RolledOut = true
	}
	decided.Spec = pending.ForPods(decision.Given.Spec)
	plan.add(decided)
	plan.write = append(slices.DeleteFunc(plan.write, func(r inputs.Record) bool { return r.Name == decided.Name }), plan.all[0])
	keep[decided.Name] = true
	plan.removeUnused(in, func(r inputs.Record) bool { return keep[r.Name] || given != nil && given.Uses(r.Name) })
	return plan, nil
}

// removeUnused removes the records that are not in use. One of them stays as long as a pod runs an image whose version no other record says: the
// pod may not have been told.
func (p *recordPlan) removeUnused(in inputs.Inputs, inUse func(inputs.Record) bool) {
	said := map[string]bool{}
	for _, record := range p.all {
		if record.Spec.Version != "" && inUse(record) {
			said[record.Spec.Image] = true
		}
	}
	for _, record := range p.all {
		switch image := record.Spec.Image; {
		case inUse(record):
		case image != "" && record.Spec.Version != "" && !said[image] && runs(in, image):
			said[image] = true
		default:
			p.remove = append(p.remove, record)
		}
	}
}

// runs reports whether any pod runs an image of memcached.
func runs(in inputs.Inputs, image string) bool {
	return slices.ContainsFunc(in.Pods, func(of corev1.Pod) bool { return hasImage(in, &of, pod.MemcachedContainer, image) })
}

// existing returns the record that there is of the template of another one, or else that one. The newest record keeps its cause: its
// rollout goes on.
func (p *recordPlan) existing(decided inputs.Record) inputs.Record {
	i := slices.IndexFunc(p.all, decided.SameTemplate)
	if i < 0 {
		return decided
	}
	record := p.all[i]
	if record.Number < p.all[0].Number {
		record.Cause, record.RolledOut = decided.Cause, false
	}
	return record
}

// add makes a record the newest one.
func (p *recordPlan) add(record inputs.Record) {
	if newest := append(p.all, inputs.Record{})[0]; record.Number == 0 || newest.Name != record.Name {
		record.Number = newest.Number + 1
	}
	rest := slices.DeleteFunc(p.all, func(r inputs.Record) bool { return r.Name == record.Name })
	p.all = slices.Insert(rest, 0, record)
}

// newRecord returns the record of a template, with its name.
func newRecord(in inputs.Inputs, kind string, template *pending.Template) inputs.Record {
	record := inputs.Record{Workload: kind, Template: template}
	sum := sha256.Sum256(record.Data())
	record.Name = fmt.Sprintf("%s-record-%s", in.Memcached.Name, hex.EncodeToString(sum[:5]))
	return record
}

// record returns the object that holds a record.
func record(in inputs.Inputs, record inputs.Record) owned.Configuration {
	return appsv1ac.ControllerRevision(record.Name, in.Memcached.Namespace).
		WithLabels(map[string]string{
			owned.LabelName: inputs.ApplicationName, owned.LabelManagedBy: owned.Manager, owned.LabelComponent: "record", owned.LabelPartOf: in.Memcached.Name,
			inputs.CacheLabel: in.Memcached.Name,
		}).
		WithAnnotations(map[string]string{inputs.NoteAnnotation: record.Note()}).
		WithOwnerReferences(owner(in.Memcached)).
		WithData(runtime.RawExtension{Raw: record.Data()}).
		WithRevision(record.Number)
}

// recordName returns the annotation that names a record, nil for a template of an earlier release: to add the annotation would
// replace the pods of a Deployment, or change those of a StatefulSet.
func recordName(record inputs.Record) map[string]string {
	if record.TakenOver {
		return nil
	}
	return map[string]string{owned.RecordAnnotation: record.Name}
}
