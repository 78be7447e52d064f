package cluster

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// tick is how often the played Kubernetes looks at its namespace.
const tick = 25 * time.Millisecond

// Kubernetes plays the controllers of Deployments and StatefulSets, the kubelet and the garbage collector for one namespace.
type Kubernetes struct {
	namespace string

	mutex  sync.Mutex
	refuse string
	sick   corev1.ContainerState
}

// PlayKubernetes starts to play, until the end of the test. Pods come up one after another, as on a real cluster.
func PlayKubernetes(t *testing.T, namespace string) *Kubernetes {
	t.Helper()
	k := &Kubernetes{namespace: namespace}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ticker := time.NewTicker(tick); ; {
			select {
			case <-ctx.Done():
				ticker.Stop()
				return
			case <-ticker.C:
			}
			if err := k.turn(ctx); err != nil && ctx.Err() == nil && !passing(err) {
				t.Errorf("play Kubernetes: %v", err)
				return
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return k
}

// Refuse makes the creation of pods fail with a message, until it is called with an empty one.
func (k *Kubernetes) Refuse(message string) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.refuse = message
}

// Sicken makes the containers of pods that are created from now on stay in a state instead of running.
func (k *Kubernetes) Sicken(state corev1.ContainerState) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.sick = state
}

func (k *Kubernetes) settings() (refuse string, sick corev1.ContainerState) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.refuse, k.sick
}

// passing errors are those a real controller retries.
func passing(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err)
}

func (k *Kubernetes) turn(ctx context.Context) error {
	deployments, sets, pods := &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}, &corev1.PodList{}
	if err := Client.List(ctx, deployments, client.InNamespace(k.namespace)); err != nil {
		return err
	}
	if err := Client.List(ctx, sets, client.InNamespace(k.namespace)); err != nil {
		return err
	}
	if err := Client.List(ctx, pods, client.InNamespace(k.namespace)); err != nil {
		return err
	}
	owners := map[types.UID]bool{}
	for i := range deployments.Items {
		owners[deployments.Items[i].UID] = true
	}
	for i := range sets.Items {
		owners[sets.Items[i].UID] = true
	}
	for i := range pods.Items {
		if err := k.runPod(ctx, &pods.Items[i], owners); err != nil {
			return err
		}
	}
	for i := range deployments.Items {
		if err := k.runDeployment(ctx, &deployments.Items[i], pods.Items); err != nil {
			return err
		}
	}
	for i := range sets.Items {
		if err := k.runStatefulSet(ctx, &sets.Items[i], pods.Items); err != nil {
			return err
		}
	}
	return nil
}

// runPod is the kubelet, and the garbage collector, which deletes pods without an owner.
func (k *Kubernetes) runPod(ctx context.Context, pod *corev1.Pod, owners map[types.UID]bool) error {
	if owner := metav1.GetControllerOf(pod); owner != nil && !owners[owner.UID] {
		return Client.Delete(ctx, pod, client.GracePeriodSeconds(0))
	}
	_, sick := k.settings()
	if !startContainers(pod, sick) {
		return nil
	}
	return Client.Status().Update(ctx, pod)
}

// runDeployment is the Deployment controller: it creates or deletes one pod at a time and counts them.
func (k *Kubernetes) runDeployment(ctx context.Context, deployment *appsv1.Deployment, all []corev1.Pod) error {
	refuse, _ := k.settings()
	template := templateHash(deployment)
	var updated, outdated []corev1.Pod
	for _, pod := range all {
		switch owner := metav1.GetControllerOf(&pod); {
		case owner == nil || owner.UID != deployment.UID || !pod.DeletionTimestamp.IsZero():
		case pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey] == template:
			updated = append(updated, pod)
		default:
			outdated = append(outdated, pod)
		}
	}
	wanted := int(ptr.Deref(deployment.Spec.Replicas, 1))
	var err error
	switch {
	case len(updated) < wanted && refuse == "":
		err = Client.Create(ctx, newPod(deployment, template))
	case len(outdated) > 0:
		err = Client.Delete(ctx, &outdated[0], client.GracePeriodSeconds(0))
	case len(updated) > wanted:
		err = Client.Delete(ctx, &updated[len(updated)-1], client.GracePeriodSeconds(0))
	}
	if err != nil {
		return err
	}
	return k.report(ctx, deployment, updated, outdated, refuse)
}

// report writes the Deployment's status if it has changed.
func (k *Kubernetes) report(ctx context.Context, deployment *appsv1.Deployment, updated, outdated []corev1.Pod, refuse string) error {
	status := appsv1.DeploymentStatus{
		ObservedGeneration:  deployment.Generation,
		Replicas:            int32(len(updated) + len(outdated)),
		UpdatedReplicas:     int32(len(updated)),
		TerminatingReplicas: deployment.Status.TerminatingReplicas,
	}
	for _, pod := range slices.Concat(updated, outdated) {
		if isReady(&pod) {
			status.ReadyReplicas++
			status.AvailableReplicas++
		}
	}
	if refuse != "" {
		status.Conditions = []appsv1.DeploymentCondition{{
			Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: refuse,
		}}
	}
	if equality.Semantic.DeepEqual(status, deployment.Status) {
		return nil
	}
	deployment.Status = status
	return Client.Status().Update(ctx, deployment)
}

// newPod returns a pod of a Deployment. The ReplicaSet that would own it does not exist; its reference carries the
// Deployment's UID instead, which nobody but this package looks at.
func newPod(deployment *appsv1.Deployment, template string) *corev1.Pod {
	replicaSet := deployment.Name + "-" + template
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:      replicaSet + "-" + rand.String(5),
			Namespace: deployment.Namespace,
			Labels:    map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: template},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: replicaSet, UID: deployment.UID, Controller: ptr.To(true),
			}},
		},
		Spec: *deployment.Spec.Template.Spec.DeepCopy(),
	}
	for key, value := range deployment.Spec.Template.Labels {
		pod.Labels[key] = value
	}
	return pod
}

func templateHash(deployment *appsv1.Deployment) string {
	hash := fnv.New32a()
	_, _ = fmt.Fprint(hash, deployment.Spec.Template.String())
	return rand.SafeEncodeString(fmt.Sprint(hash.Sum32()))
}

// CollectGarbage deletes what an owner that has been deleted had made. Pods follow their Deployment by themselves. It is
// for the test to say when, because what an operator does until then matters.
func (k *Kubernetes) CollectGarbage(t *testing.T, owner types.UID) {
	t.Helper()
	for _, list := range []client.ObjectList{
		&appsv1.DeploymentList{}, &appsv1.StatefulSetList{}, &networkingv1.NetworkPolicyList{}, &corev1.ServiceList{}, &corev1.SecretList{},
		&networkingv1.IngressList{}, &policyv1.PodDisruptionBudgetList{},
	} {
		if err := Client.List(t.Context(), list, client.InNamespace(k.namespace)); err != nil {
			t.Fatal(err)
		}
		err := apimeta.EachListItem(list, func(item runtime.Object) error {
			object := item.(client.Object)
			if controller := metav1.GetControllerOf(object); controller == nil || controller.UID != owner {
				return nil
			}
			return client.IgnoreNotFound(Client.Delete(t.Context(), object))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
