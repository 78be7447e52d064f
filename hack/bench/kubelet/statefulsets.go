package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// statefulSets is the controller of StatefulSets with the strategy OnDelete.
type statefulSets struct{ *rollouts }

// Reconcile brings a StatefulSet one step further.
func (s statefulSets) Reconcile(ctx context.Context, set *appsv1.StatefulSet) (reconcile.Result, error) {
	hash, err := hashOf(&set.Spec.Template)
	if err != nil {
		return reconcile.Result{}, err
	}
	plan := plan{
		template: set.Spec.Template, namespace: set.Namespace, instance: set.Name,
		owner: controllerReference("apps/v1", "StatefulSet", set.Name, set.UID),
		label: appsv1.ControllerRevisionHashLabelKey, revision: set.Name + "-" + hash,
	}
	for i := range ptr.Deref(set.Spec.Replicas, 1) {
		plan.names = append(plan.names, fmt.Sprintf("%s-%d", set.Name, i))
	}
	if set.Status.UpdateRevision != plan.revision {
		if err := s.record(ctx, set, plan.revision); err != nil {
			return reconcile.Result{}, err
		}
	}
	state, err := s.bring(ctx, plan)
	if err != nil || !state.settled {
		return reconcile.Result{}, err
	}
	next := set.DeepCopy()
	next.Status.ObservedGeneration, next.Status.UpdateRevision = set.Generation, plan.revision
	next.Status.Replicas, next.Status.UpdatedReplicas = state.replicas, state.updated
	next.Status.ReadyReplicas, next.Status.AvailableReplicas = state.ready, state.ready
	next.Status.CurrentReplicas = state.replicas - state.updated
	if state.updated == state.replicas {
		next.Status.CurrentRevision, next.Status.CurrentReplicas = plan.revision, state.replicas
	}
	if !equality.Semantic.DeepEqual(set.Status, next.Status) {
		err = client.IgnoreNotFound(s.Status().Update(ctx, next))
	}
	return reconcile.Result{}, err
}

// record writes the revision of the newest template, which the operator reads.
func (s statefulSets) record(ctx context.Context, set *appsv1.StatefulSet, name string) error {
	raw, err := json.Marshal(map[string]any{"spec": map[string]any{"template": set.Spec.Template}})
	if err != nil {
		return err
	}
	revision := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: set.Namespace, Name: name, Labels: maps.Clone(set.Spec.Template.Labels),
			OwnerReferences: []metav1.OwnerReference{controllerReference("apps/v1", "StatefulSet", set.Name, set.UID)},
		},
		Data: runtime.RawExtension{Raw: raw}, Revision: set.Generation,
	}
	if err := s.Create(ctx, revision); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}
