package inputs

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/pods"
	"github.com/example/memcached-operator/operator/kube/workload"
)

// The kinds of workload.
const (
	Deployment  = "Deployment"
	StatefulSet = "StatefulSet"
)

// readWorkloads reads what the Deployment and the StatefulSet of a cache were given.
func (m *Reader) readWorkloads(ctx context.Context, in *Inputs) error {
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
		in.Deployment.setComplete(workload.OfDeployment(deployment), deployment, in.Memcached)
	}
	set := &appsv1.StatefulSet{}
	if found, err = m.find(ctx, in.Memcached, set, stable); err != nil {
		return err
	}
	if in.StatefulSet, err = m.given(ctx, in, StatefulSet, set, found, stable); err != nil || !found {
		return err
	}
	in.StatefulSet.setComplete(workload.OfStatefulSet(set), set, in.Memcached)
	if set.Status.ObservedGeneration >= set.Generation {
		in.StatefulSet.Revision = set.Status.UpdateRevision
	}
	revisions, err := Revisions(ctx, m.Cached, set)
	if err != nil {
		return err
	}
	in.StatefulSet.InUse = recordsInUse(in.Records, revisions)
	if in.Memcached.Spec.Service != nil {
		in.AgentRestarts, err = m.agentRestarts(ctx, in.Memcached)
	}
	return err
}

func (w *Workload) setComplete(status *workload.Status, object client.Object, owner *v1alpha1.Memcached) {
	w.Complete = status.Complete() && status.Wanted == owner.Spec.Size
	w.RolledOut = w.Complete && w.Record != nil && w.Record.Name == object.GetAnnotations()[owned.RecordAnnotation]
}

// given returns what a workload was given, nil if there is no workload. The newest record says it, also if the workload was deleted
// and its pods were not: `kubectl delete --cascade=orphan` does that. A workload of an earlier release has no record yet.
func (m *Reader) given(ctx context.Context, in *Inputs, kind string, object client.Object, found, wanted bool) (*Workload, error) {
	newest := Newest(in.Records, kind)
	if !found {
		if newest == nil || !wanted {
			return nil, nil // Documented: there is no workload.
		}
		if orphans, err := m.hasPods(ctx, in.Memcached); err != nil || !orphans {
			return nil, err
		}
	}
	named := object.GetAnnotations()[owned.RecordAnnotation]
	if found && (newest == nil || named != "" && RecordNamed(in.Records, named) == nil) {
		// The cache of the operator may not have the record yet.
		var err error
		if in.Records, err = records(ctx, m.Live, in.Memcached); err != nil {
			return nil, err
		}
		newest = Newest(in.Records, kind)
	}
	if newest != nil {
		return &Workload{Template: newest.Template, Spec: newest.Spec, Record: newest}, nil
	}
	return m.takeOver(ctx, in.Memcached, object, named != "")
}

// takeOver returns what an earlier release gave a workload: what v0.3.0 recorded in annotations, or what the API server says was
// applied. The annotations are not believed if the workload once had a record.
func (m *Reader) takeOver(ctx context.Context, owner *v1alpha1.Memcached, object client.Object, hadRecord bool) (*Workload, error) {
	if released := releasedRecord(object.GetAnnotations()); released != nil && !hadRecord {
		return released, nil
	}
	if err := m.Live.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
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

// hasPods reports whether the cache has pods that are not about to end.
func (m *Reader) hasPods(ctx context.Context, owner *v1alpha1.Memcached) (bool, error) {
	found, err := m.pods(ctx, owner)
	return slices.ContainsFunc(found, func(pod corev1.Pod) bool { return !pods.Ending(&pod) }), err
}

// agentRestarts reports whether the operator restarts the agent of a pod.
func (m *Reader) agentRestarts(ctx context.Context, owner *v1alpha1.Memcached) (bool, error) {
	found, err := m.pods(ctx, owner)
	return slices.ContainsFunc(found, func(pod corev1.Pod) bool { return hasKey(pod.Annotations, AgentRestartAnnotation) }), err
}

func (m *Reader) pods(ctx context.Context, owner *v1alpha1.Memcached) ([]corev1.Pod, error) {
	found := &corev1.PodList{}
	selector := client.MatchingLabels(owned.Identity{Name: ApplicationName, Instance: owner.Name}.Selector())
	if err := m.Cached.List(ctx, found, client.InNamespace(owner.Namespace), selector); err != nil {
		return nil, fmt.Errorf("list the pods of %s/%s: %w", owner.Namespace, owner.Name, err)
	}
	return found.Items, nil
}
