package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// rollouts makes and removes the pods of workloads.
type rollouts struct{ client.Client }

// plan are the pods that a workload should have.
type plan struct {
	template  corev1.PodTemplateSpec
	namespace string
	// instance is the name of the workload.
	instance string
	// names are those of the pods. A pod with another name goes.
	names []string
	// owner is the controller of the pods.
	owner metav1.OwnerReference
	// label has the value revision on pods that have the template.
	label, revision string
}

// state is how far a workload is.
type state struct {
	// settled is false while a pod has just been made or removed, or was not reported on yet: then the workload says nothing yet.
	settled                  bool
	replicas, updated, ready int32
}

// bring makes the pods that are missing, and removes those that are too many.
func (r *rollouts) bring(ctx context.Context, plan plan) (state, error) {
	found := &corev1.PodList{}
	err := r.List(ctx, found, client.InNamespace(plan.namespace), client.MatchingFields{byWorkload: plan.instance}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return state{}, err
	}
	s, have := state{settled: true}, map[string]*corev1.Pod{}
	for i := range found.Items {
		if owner := metav1.GetControllerOf(&found.Items[i]); owner != nil && owner.UID == plan.owner.UID {
			have[found.Items[i].Name] = &found.Items[i]
		}
	}
	for _, name := range plan.names {
		pod := have[name]
		delete(have, name)
		if pod == nil {
			s.settled = false
			if err := r.make(ctx, plan, name); err != nil {
				return s, err
			}
			continue
		}
		s.count(pod, plan)
	}
	for _, surplus := range have {
		s.settled = false
		if err := r.Delete(ctx, surplus.DeepCopy(), client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
			return s, err
		}
	}
	return s, nil
}

func (s *state) count(pod *corev1.Pod, plan plan) {
	s.replicas++
	if pod.Labels[plan.label] == plan.revision {
		s.updated++
	}
	if len(pod.Status.ContainerStatuses) == 0 || pod.DeletionTimestamp != nil {
		s.settled = false
		return
	}
	s.ready++
}

func (r *rollouts) make(ctx context.Context, plan plan, name string) error {
	pod := &corev1.Pod{ObjectMeta: *plan.template.ObjectMeta.DeepCopy(), Spec: *plan.template.Spec.DeepCopy()}
	pod.Namespace, pod.Name, pod.Spec.NodeName = plan.namespace, name, nodeName
	pod.Labels[plan.label] = plan.revision
	pod.OwnerReferences = []metav1.OwnerReference{plan.owner}
	if err := r.Create(ctx, pod); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}

// hashOf returns a short hash of a template, as Kubernetes' controllers put it into names.
func hashOf(template *corev1.PodTemplateSpec) (string, error) {
	raw, err := json.Marshal(template)
	if err != nil {
		return "", err
	}
	hash := fnv.New32a()
	_, _ = hash.Write(raw) // A hash takes everything.
	return rand.SafeEncodeString(fmt.Sprint(hash.Sum32())), nil
}

func controllerReference(apiVersion, kind, name string, uid types.UID) metav1.OwnerReference {
	yes := true
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: uid, Controller: &yes, BlockOwnerDeletion: &yes}
}
