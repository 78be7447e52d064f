package kubelet

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// deployments is the controller of Deployments, and of ReplicaSets, which it does not make.
type deployments struct{ *rollouts }

// Reconcile brings a Deployment one step further.
func (d deployments) Reconcile(ctx context.Context, deployment *appsv1.Deployment) (reconcile.Result, error) {
	hash, err := hashOf(&deployment.Spec.Template)
	if err != nil {
		return reconcile.Result{}, err
	}
	plan := plan{
		template: deployment.Spec.Template, namespace: deployment.Namespace, instance: deployment.Name,
		owner: controllerReference("apps/v1", "ReplicaSet", deployment.Name+"-"+hash, deployment.UID),
		label: appsv1.DefaultDeploymentUniqueLabelKey, revision: hash,
	}
	for i := range ptr.Deref(deployment.Spec.Replicas, 1) {
		plan.names = append(plan.names, fmt.Sprintf("%s-%s-%d", deployment.Name, hash, i))
	}
	state, err := d.bring(ctx, plan)
	if err != nil || !state.settled {
		return reconcile.Result{}, err
	}
	next := deployment.DeepCopy()
	next.Status.ObservedGeneration = deployment.Generation
	next.Status.Replicas, next.Status.UpdatedReplicas = state.replicas, state.updated
	next.Status.ReadyReplicas, next.Status.AvailableReplicas = state.ready, state.ready
	setCondition(next, appsv1.DeploymentAvailable, "MinimumReplicasAvailable")
	setCondition(next, appsv1.DeploymentProgressing, "NewReplicaSetAvailable")
	if !equality.Semantic.DeepEqual(deployment.Status, next.Status) {
		err = client.IgnoreNotFound(d.Status().Update(ctx, next))
	}
	return reconcile.Result{}, err
}

func setCondition(deployment *appsv1.Deployment, kind appsv1.DeploymentConditionType, reason string) {
	for _, condition := range deployment.Status.Conditions {
		if condition.Type == kind {
			return
		}
	}
	now := metav1.Now()
	deployment.Status.Conditions = append(deployment.Status.Conditions, appsv1.DeploymentCondition{
		Type: kind, Status: corev1.ConditionTrue, Reason: reason, LastUpdateTime: now, LastTransitionTime: now,
	})
}
