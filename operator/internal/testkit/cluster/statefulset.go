package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// runStatefulSet is the controller of StatefulSets that update on deletion, all pods at a time: it keeps a
// ControllerRevision for each template, makes pods that are missing, removes those that are not wanted, and counts.
func (k *Kubernetes) runStatefulSet(ctx context.Context, set *appsv1.StatefulSet, all []corev1.Pod) error {
	revision, err := revisionOf(set)
	if err != nil {
		return err
	}
	if err := Client.Create(ctx, revision); err != nil && !passing(err) {
		return err
	}
	status := appsv1.StatefulSetStatus{
		ObservedGeneration: set.Generation, CurrentRevision: revision.Name, UpdateRevision: revision.Name, CollisionCount: set.Status.CollisionCount,
	}
	if err := k.runSlots(ctx, set, all, &status); err != nil {
		return err
	}
	if equality.Semantic.DeepEqual(status, set.Status) {
		return nil
	}
	set.Status = status
	return Client.Status().Update(ctx, set)
}

// runSlots makes pods that are missing, removes those that are not wanted, and counts the others.
func (k *Kubernetes) runSlots(ctx context.Context, set *appsv1.StatefulSet, all []corev1.Pod, status *appsv1.StatefulSetStatus) error {
	there := map[string]*corev1.Pod{}
	for i := range all {
		if owner := metav1.GetControllerOf(&all[i]); owner != nil && owner.UID == set.UID {
			there[all[i].Name] = &all[i]
		}
	}
	wanted := map[string]bool{}
	for number := range ptr.Deref(set.Spec.Replicas, 1) {
		name := fmt.Sprintf("%s-%d", set.Name, number)
		wanted[name] = true
		if there[name] == nil {
			if err := k.createSlot(ctx, set, name, status.UpdateRevision); err != nil && !passing(err) {
				return err
			}
		}
	}
	for name, pod := range there {
		if !wanted[name] {
			if err := Client.Delete(ctx, pod, client.GracePeriodSeconds(0)); err != nil {
				return err
			}
			continue
		}
		count(status, pod)
	}
	return nil
}

// createSlot makes the pod of a slot, and tells what became of that: nothing else does.
func (k *Kubernetes) createSlot(ctx context.Context, set *appsv1.StatefulSet, name, revision string) error {
	if refuse, _ := k.settings(); refuse != "" {
		return tell(ctx, set, corev1.EventTypeWarning, "FailedCreate",
			fmt.Sprintf("create Pod %s in StatefulSet %s failed error: %s", name, set.Name, refuse))
	}
	if err := Client.Create(ctx, newSlot(set, name, revision)); err != nil {
		return err
	}
	return tell(ctx, set, corev1.EventTypeNormal, "SuccessfulCreate",
		fmt.Sprintf("create Pod %s in StatefulSet %s successful", name, set.Name))
}

// tell emits an event about a StatefulSet, or counts it once more, each second at most.
func tell(ctx context.Context, set *appsv1.StatefulSet, kind, reason, message string) error {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(reason + message))
	name := fmt.Sprintf("%s.%x", set.Name, hash.Sum32())
	event := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: name}}
	err := Client.Get(ctx, client.ObjectKeyFromObject(event), event)
	if client.IgnoreNotFound(err) != nil || err == nil && metav1.Now().Sub(event.LastTimestamp.Time) < time.Second {
		return client.IgnoreNotFound(err)
	}
	event.InvolvedObject = corev1.ObjectReference{
		APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: set.Namespace, Name: set.Name, UID: set.UID,
	}
	event.Type, event.Reason, event.Message = kind, reason, message
	event.LastTimestamp = metav1.Now()
	event.Count++
	if err == nil {
		return Client.Update(ctx, event)
	}
	return Client.Create(ctx, event)
}

func count(status *appsv1.StatefulSetStatus, pod *corev1.Pod) {
	status.Replicas++
	if pod.Labels[appsv1.ControllerRevisionHashLabelKey] == status.UpdateRevision {
		status.UpdatedReplicas++
	}
	if isReady(pod) {
		status.ReadyReplicas++
		status.AvailableReplicas++
	}
}

// revisionOf returns the ControllerRevision of a StatefulSet's template.
func revisionOf(set *appsv1.StatefulSet) (*appsv1.ControllerRevision, error) {
	raw, err := json.Marshal(map[string]any{"spec": map[string]any{"template": set.Spec.Template}})
	if err != nil {
		return nil, err
	}
	hash := fnv.New32a()
	_, _ = hash.Write(raw)
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name:      set.Name + "-" + rand.SafeEncodeString(fmt.Sprint(hash.Sum32())),
			Namespace: set.Namespace, Labels: set.Spec.Template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))},
		},
		Data: runtime.RawExtension{Raw: raw}, Revision: set.Generation,
	}, nil
}

// newSlot returns the pod of a slot.
func newSlot(set *appsv1.StatefulSet, name, revision string) *corev1.Pod {
	labels := maps.Clone(set.Spec.Template.Labels)
	labels[appsv1.ControllerRevisionHashLabelKey] = revision
	labels[appsv1.StatefulSetPodNameLabel] = name
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: set.Namespace, Labels: labels, Annotations: maps.Clone(set.Spec.Template.Annotations),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))},
		},
		Spec: *set.Spec.Template.Spec.DeepCopy(),
	}
}
