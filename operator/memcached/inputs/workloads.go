package inputs

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/pods"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
	"github.com/example/memcached-operator/operator/kube/workload"
)

// The kinds of workload.
const (
	Deployment  = "Deployment"
	StatefulSet = "StatefulSet"
)

// readWorkloads reads what the Deployment and the StatefulSet of a cache were given.
func (m *Reader) readWorkloads(ctx context.Context, in *Inputs) error {
	if err := m.readPods(ctx, in); err != nil {
		return err
	}
	stable := StablePods(in.Memcached.Spec)
	deployment := &appsv1.Deployment{}
	found, err := m.find(ctx, in.Memcached, deployment, !stable)
	if err != nil {
		return err
	}
	if in.Deployment, err = m.given(ctx, in, Deployment, deployment, found, !stable); err != nil {
		return err
	}
	if found {
		in.Deployment.observe(workload.OfDeployment(deployment), deployment, in.Memcached)
	}
	set := &appsv1.StatefulSet{}
	if found, err = m.find(ctx, in.Memcached, set, stable); err != nil {
		return err
	}
	if in.StatefulSet, err = m.given(ctx, in, StatefulSet, set, found, stable); err != nil || in.StatefulSet == nil {
		return err
	}
	if in.StatefulSet.Records, err = m.revisionRecords(ctx, in); err != nil || !found {
		return err
	}
	in.StatefulSet.observe(workload.OfStatefulSet(set), set, in.Memcached)
	if set.Status.ObservedGeneration >= set.Generation {
		in.StatefulSet.Revision = set.Status.UpdateRevision
	}
	in.AgentRestarts = slices.ContainsFunc(in.Pods, func(pod corev1.Pod) bool { return hasKey(pod.Annotations, AgentRestartAnnotation) })
	return nil
}

// observe sets what the object says about itself.
func (w *Workload) observe(status *workload.Status, object client.Object, owner *v1alpha1.Memcached) {
	w.Names = ptr.To(object.GetAnnotations()[owned.RecordAnnotation])
	w.Complete = status.Complete() && status.Wanted == owner.Spec.Size
	w.RolledOut = w.Complete && w.Record != nil && w.Record.Name == *w.Names
}

// given returns what a workload was given, nil if there is no workload: the record that it names. Without a workload, it is the newest
// record if there are pods: `kubectl delete --cascade=orphan` leaves them. A workload that names no record was written by an earlier
// release, perhaps after a newer one.
func (m *Reader) given(ctx context.Context, in *Inputs, kind string, object client.Object, found, wanted bool) (*Workload, error) {
	newest := Newest(in.Records, kind)
	if !found {
		if newest == nil || !wanted {
			return nil, nil // Documented: there is no workload.
		}
		if !slices.ContainsFunc(in.Pods, func(pod corev1.Pod) bool { return !pods.Ending(&pod) }) {
			return nil, nil // As above.
		}
		return workloadOf(newest), nil
	}
	named := object.GetAnnotations()[owned.RecordAnnotation]
	if newest == nil || named != "" && RecordNamed(in.Records, named) == nil {
		// The cache of the operator may not have the record yet.
		var err error
		if in.Records, err = records(ctx, m.Live, in.Memcached); err != nil {
			return nil, err
		}
		newest = Newest(in.Records, kind)
	}
	record := recordGiven(in.Records, kind, named, object.GetAnnotations()[releasedHashAnnotation])
	if record != nil && record.Name != newest.Name {
		// The cache of the operator may not have the workload with the newest record yet. That record would then count as unused, and be
		// removed although the workload has it.
		if err := m.readAgain(ctx, in, object); err != nil {
			return nil, err
		}
		named, newest = object.GetAnnotations()[owned.RecordAnnotation], Newest(in.Records, kind)
		record = recordGiven(in.Records, kind, named, object.GetAnnotations()[releasedHashAnnotation])
	}
	if record != nil {
		return workloadOf(record), nil
	}
	given, err := m.takeOver(ctx, in.Memcached, object, named != "" || newest != nil)
	if err != nil {
		return nil, err
	}
	given.Hash = object.GetAnnotations()[releasedHashAnnotation]
	given.findRecord(in.Records, kind)
	return given, nil
}

// readAgain reads a workload and the records of its cache from the API server. The error is Stale if the workload is another one by now.
func (m *Reader) readAgain(ctx context.Context, in *Inputs, object client.Object) error {
	before, key := object.GetUID(), client.ObjectKeyFromObject(object)
	err := m.Live.Get(ctx, key, object)
	if apierrors.IsNotFound(err) || err == nil && object.GetUID() != before {
		return reconcileerror.Stale(fmt.Errorf("the workload of %s was deleted during the reconcile", key))
	}
	if err != nil {
		return fmt.Errorf("read the workload of %s: %w", key, err)
	}
	in.Records, err = records(ctx, m.Live, in.Memcached)
	return err
}

// recordGiven returns the record of what a workload was given, which names a record or, if an earlier release wrote it, has a hash of
// that release. It returns nil if the workload has to be taken over.
func recordGiven(records []Record, kind, named, hash string) *Record {
	if named == "" {
		return find(records, func(r *Record) bool { return r.Workload == kind && r.TakenOver && r.Hash == hash })
	}
	if record := RecordNamed(records, named); record != nil && record.Workload == kind {
		return record
	}
	return Newest(records, kind)
}

func workloadOf(record *Record) *Workload {
	return &Workload{Template: record.Template, Spec: record.Spec, Record: record}
}

// findRecord looks for a record of the template among those of earlier decisions: somebody may only have removed the annotation that
// names it.
func (w *Workload) findRecord(records []Record, kind string) {
	given := Record{Workload: kind, Template: w.Template}
	if record := find(records, func(r *Record) bool { return !r.TakenOver && r.SameTemplate(given) }); record != nil {
		w.Record, w.Spec, w.Unrecorded = record, record.Spec, false
	}
}

// takeOver returns what an earlier release gave a workload: what v0.3.0 recorded in annotations, or what the API server says was
// applied. The annotations are not believed if the workload once had a record.
func (m *Reader) takeOver(ctx context.Context, owner *v1alpha1.Memcached, object client.Object, hadRecord bool) (*Workload, error) {
	if released := releasedRecord(object.GetAnnotations()); released != nil && !hadRecord {
		return released, nil
	}
	key := client.ObjectKeyFromObject(object)
	if _, stable := object.(*appsv1.StatefulSet); stable {
		object = &appsv1.StatefulSet{}
	} else {
		object = &appsv1.Deployment{}
	}
	if err := m.Live.Get(ctx, key, object); err != nil {
		return nil, fmt.Errorf("read the workload of %s/%s: %w", owner.Namespace, owner.Name, err)
	}
	if released := releasedRecord(object.GetAnnotations()); released != nil && !hadRecord {
		return released, nil
	}
	if set, stable := object.(*appsv1.StatefulSet); stable {
		return &Workload{Template: templateOfStatefulSet(set), Spec: owner.Spec}, nil
	}
	deployment, _ := object.(*appsv1.Deployment)
	return &Workload{Template: templateOfDeployment(deployment), Unrecorded: true}, nil
}

// templateOfDeployment returns the pod template as the operator applied it. If the API server does not know any more who set which
// field, all fields count.
func templateOfDeployment(deployment *appsv1.Deployment) *corev1ac.PodTemplateSpecApplyConfiguration {
	applied, err := appsv1ac.ExtractDeployment(deployment, owned.Manager)
	if err == nil && applied.Spec != nil && applied.Spec.Template != nil && applied.Spec.Template.Spec != nil {
		return withoutRecordName(applied.Spec.Template)
	}
	return owned.Convert[corev1ac.PodTemplateSpecApplyConfiguration](deployment.Spec.Template)
}

// templateOfStatefulSet does the same.
func templateOfStatefulSet(set *appsv1.StatefulSet) *corev1ac.PodTemplateSpecApplyConfiguration {
	applied, err := appsv1ac.ExtractStatefulSet(set, owned.Manager)
	if err == nil && applied.Spec != nil && applied.Spec.Template != nil && applied.Spec.Template.Spec != nil {
		return withoutRecordName(applied.Spec.Template)
	}
	return withoutRecordName(owned.Convert[corev1ac.PodTemplateSpecApplyConfiguration](set.Spec.Template))
}

func withoutRecordName(template *corev1ac.PodTemplateSpecApplyConfiguration) *corev1ac.PodTemplateSpecApplyConfiguration {
	if template.ObjectMetaApplyConfiguration != nil {
		delete(template.Annotations, owned.RecordAnnotation)
	}
	return template
}

// revisionRecords returns the records that revisions of the StatefulSet refer to. Revisions that it has lost or not adopted yet count.
// A record that none refers to is removed, so the API server is asked for revisions that the caches may not have yet.
func (m *Reader) revisionRecords(ctx context.Context, in *Inputs) (map[string]*Record, error) {
	cached, err := m.recordsOfRevisions(ctx, m.Cached, in)
	if err != nil || !in.StatefulSet.hasUnused(in.Records, cached) {
		return cached, err
	}
	return m.recordsOfRevisions(ctx, m.Live, in)
}

// hasUnused reports whether there is a record of the StatefulSet that it does not have now, and that is not among those in use.
func (w *Workload) hasUnused(records []Record, used map[string]*Record) bool {
	return slices.ContainsFunc(records, func(r Record) bool {
		given := w.Record != nil && w.Record.Name == r.Name
		return r.Workload == StatefulSet && !given && !(&Workload{Records: used}).Uses(r.Name)
	})
}

func (m *Reader) recordsOfRevisions(ctx context.Context, reader client.Reader, in *Inputs) (map[string]*Record, error) {
	found := &appsv1.ControllerRevisionList{}
	selector := client.MatchingLabels(owned.Identity{Name: ApplicationName, Instance: in.Memcached.Name}.Selector())
	if err := reader.List(ctx, found, client.InNamespace(in.Memcached.Namespace), selector); err != nil {
		return nil, fmt.Errorf("list the revisions of %s/%s: %w", in.Memcached.Namespace, in.Memcached.Name, err)
	}
	return recordsOf(in.Records, found.Items), nil
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

// readPods reads the pods of a cache, and the pods that pull images for it.
func (m *Reader) readPods(ctx context.Context, in *Inputs) error {
	owner, own, pulls := in.Memcached, &corev1.PodList{}, &corev1.PodList{}
	for list, labels := range map[*corev1.PodList]client.MatchingLabels{
		own:   owned.Identity{Name: ApplicationName, Instance: owner.Name}.Selector(),
		pulls: {owned.LabelManagedBy: owned.Manager, CacheLabel: owner.Name},
	} {
		if err := m.Cached.List(ctx, list, client.InNamespace(owner.Namespace), labels, client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("list the pods of %s/%s: %w", owner.Namespace, owner.Name, err)
		}
	}
	in.Pods = own.Items
	for i := range pulls.Items {
		if metav1.IsControlledBy(&pulls.Items[i], owner) {
			in.PullPods = append(in.PullPods, pulls.Items[i])
		}
	}
	return nil
}

func hasKey(of map[string]string, key string) bool {
	_, has := of[key]
	return has
}
