package cluster

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// nodeName is the name of the one node.
const nodeName = "node"

// held are the reasons for which containers that start in a namespace stay in the state Waiting.
var held sync.Map

// HoldContainers keeps the containers that start in a namespace from now on in the state Waiting, for the given reason.
// Without a reason they run. Pods that pull images run as well, unless the reason is that they cannot.
func HoldContainers(namespace, reason string) { held.Store(namespace, reason) }

// startKubelet starts what stands in for the scheduler and the kubelet: it binds every pod to the one node, reports its
// containers, and ends it when it is deleted.
func startKubelet() (stop func() error, err error) {
	mgr, err := manager.New(Config, manager.Options{Scheme: Scheme, Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		return nil, err
	}
	err = ctrl.NewControllerManagedBy(mgr).For(&corev1.Pod{}).Named("kubelet").WithOptions(controller.Options{MaxConcurrentReconciles: 4}).
		Complete(reconcile.AsReconciler(mgr.GetClient(), &kubelet{mgr.GetClient()}))
	if err != nil {
		return nil, err
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName}}
	if err := Client.Create(context.Background(), node); err != nil {
		return nil, err
	}
	// The API server refuses to resize pods beyond what their node has.
	node.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1000"), corev1.ResourceMemory: resource.MustParse("1Ti")}
	node.Status.Capacity = node.Status.Allocatable
	if err := Client.Status().Update(context.Background(), node); err != nil {
		return nil, err
	}
	return start(mgr), nil
}

type kubelet struct{ client.Client }

// endTime is how long a pod takes to end at least if its eviction has not been noticed.
const endTime = 50 * time.Millisecond

// Reconcile makes one step for a pod.
func (k *kubelet) Reconcile(ctx context.Context, pod *corev1.Pod) (_ reconcile.Result, err error) {
	switch {
	case !pod.DeletionTimestamp.IsZero():
		evicted, err := evictionUnderWay(ctx, pod)
		if err != nil || evicted {
			return reconcile.Result{RequeueAfter: endTime}, err
		}
		err = k.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
		return reconcile.Result{}, client.IgnoreNotFound(err)
	case pod.Spec.NodeName == "":
		err = k.SubResource("binding").Create(ctx, pod, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: nodeName}})
	case startContainers(pod):
		err = k.Status().Update(ctx, pod)
	}
	return reconcile.Result{}, client.IgnoreNotFound(err)
}

// evictionUnderWay tells whether the disruption controller has not noticed yet that an evicted pod is being deleted. It would take the next
// pod of that name for the evicted one, and allow no eviction for two minutes. Pods of a real kubelet take longer to end than it takes to
// notice that.
func evictionUnderWay(ctx context.Context, pod *corev1.Pod) (bool, error) {
	budgets := &policyv1.PodDisruptionBudgetList{}
	err := Client.List(ctx, budgets, client.InNamespace(pod.Namespace))
	return slices.ContainsFunc(budgets.Items, func(budget policyv1.PodDisruptionBudget) bool {
		_, disrupted := budget.Status.DisruptedPods[pod.Name]
		return disrupted
	}), err
}

// startContainers starts the containers of a pod that do not run yet or whose image has changed, and reports them. It returns
// whether the status has changed.
func startContainers(pod *corev1.Pod) bool {
	if pod.Status.Phase == corev1.PodSucceeded {
		return false
	}
	before := pod.Status.DeepCopy()
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}
	pod.Status.ObservedGeneration, pod.Status.Phase = pod.Generation, corev1.PodRunning
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		status := statusOf(pod, container.Name)
		status.Resources = container.Resources.DeepCopy()
		if status.Image != container.Image {
			status.Image, status.ImageID = container.Image, container.Image
			startContainer(status, pod)
		}
		if status.Ready && pod.Spec.RestartPolicy == corev1.RestartPolicyNever {
			status.Ready, status.State = false, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"}}
			pod.Status.Phase = corev1.PodSucceeded
			continue
		}
		if !status.Ready {
			ready.Status, pod.Status.Phase = corev1.ConditionFalse, corev1.PodPending
		}
	}
	if equality.Semantic.DeepEqual(before, &pod.Status) {
		return false
	}
	others := slices.DeleteFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })
	pod.Status.Conditions = append(others, ready)
	return true
}

// statusOf returns the status of a container, a new one if the pod has none yet.
func statusOf(pod *corev1.Pod, name string) *corev1.ContainerStatus {
	index := slices.IndexFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == name })
	if index < 0 {
		index = len(pod.Status.ContainerStatuses)
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: name, RestartCount: -1})
	}
	return &pod.Status.ContainerStatuses[index]
}

// startContainer makes the status that of a container which has just been started, or that of one which has to wait.
func startContainer(status *corev1.ContainerStatus, pod *corev1.Pod) {
	reason, _ := held.Load(pod.Namespace)
	waits := reason != nil && reason != "" && (reason != "ContainerCreating" || pod.Spec.RestartPolicy != corev1.RestartPolicyNever)
	status.ContainerID = "containerd://" + rand.String(12)
	status.RestartCount++
	status.Ready, status.Started = !waits, ptr.To(!waits)
	status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
	if waits {
		status.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason.(string)}}
	}
}
