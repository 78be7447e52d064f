package status_test

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/kube/conditions"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
	"github.com/example/memcached-operator/operator/kube/workload"
	"github.com/example/memcached-operator/operator/memcached/desired"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/status"
)

func of(memcached *v1alpha1.Memcached) inputs.Inputs {
	return inputs.Inputs{Memcached: memcached}
}

// Each case gives the four conditions as "Ready Available Progressing Degraded", and Ready's message.
func TestConditions(t *testing.T) {
	crashed := &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137}
	for name, test := range map[string]struct {
		size       int32
		deployment *appsv1.Deployment
		pods       []corev1.Pod
		err        error
		want       string
		message    string
	}{
		"all pods are ready": {
			size: 3, deployment: testkit.Deployment(3, 3, 3), pods: testkit.Pods(3),
			want:    "True/AllNodesReady True/AllNodesReady False/AsExpected False/AsExpected",
			message: "3 of 3 pods are ready",
		},
		"a single pod is in the singular": {
			size: 1, deployment: testkit.Deployment(1, 1, 1), pods: testkit.Pods(1),
			want:    "True/AllNodesReady True/AllNodesReady False/AsExpected False/AsExpected",
			message: "1 of 1 pod is ready",
		},
		"no pod is wanted and none runs": {
			size: 0, deployment: testkit.Deployment(0, 0, 0),
			want:    "True/ScaledToZero True/ScaledToZero False/AsExpected False/AsExpected",
			message: "No pods are wanted and none run",
		},
		"no Deployment yet": {
			size: 3,
			want: "False/NodesStarting False/NoNodeReady True/NodesStarting False/AsExpected",
		},
		"no Deployment yet, and no pod wanted": {
			size: 0,
			want: "False/NodesStarting True/ScaledToZero True/NodesStarting False/AsExpected",
		},
		"a new spec is not ready although the old one was": {
			size: 3, deployment: testkit.Unseen(testkit.Deployment(3, 3, 3)), pods: testkit.Pods(3),
			want:    "False/NodesUpdating True/AllNodesReady True/NodesUpdating False/AsExpected",
			message: "Kubernetes has not processed the latest change yet",
		},
		"a larger size has not been acted on": {
			size: 5, deployment: testkit.Unseen(testkit.Deployment(3, 3, 3)), pods: testkit.Pods(3),
			want: "False/NodesStarting True/SomeNodesReady True/NodesStarting False/AsExpected",
		},
		"a smaller size has not been acted on": {
			size: 1, deployment: testkit.Unseen(testkit.Deployment(3, 3, 3)), pods: testkit.Pods(3),
			want: "False/NodesStopping True/AllNodesReady True/NodesStopping False/AsExpected",
		},
		"pods are starting": {
			size: 3, deployment: testkit.Deployment(3, 3, 1), pods: testkit.Pods(3),
			want:    "False/NodesStarting True/SomeNodesReady True/NodesStarting False/AsExpected",
			message: "1 of 3 pods are ready",
		},
		"pods are being replaced": {
			size: 3, deployment: testkit.Deployment(4, 1, 3), pods: testkit.Pods(4),
			want:    "False/NodesUpdating True/AllNodesReady True/NodesUpdating False/AsExpected",
			message: "1 of 3 pods are up to date",
		},
		"the last outdated pod is being stopped": {
			size: 3, deployment: testkit.Deployment(4, 3, 4), pods: testkit.Pods(4),
			want: "False/NodesStopping True/AllNodesReady True/NodesStopping False/AsExpected",
		},
		"surplus pods are being stopped": {
			size: 2, deployment: testkit.Deployment(3, 3, 3), pods: testkit.Pods(3),
			want:    "False/NodesStopping True/AllNodesReady True/NodesStopping False/AsExpected",
			message: "Stopping surplus pods: 2 wanted",
		},
		"the Deployment is up to date but a surplus pod is still observed": {
			size: 2, deployment: testkit.Deployment(2, 2, 2), pods: testkit.Pods(3),
			want: "False/NodesStopping True/AllNodesReady True/NodesStopping False/AsExpected",
		},
		"the Deployment is up to date but a pod is not observed yet": {
			size: 2, deployment: testkit.Deployment(2, 2, 2), pods: testkit.Pods(1),
			want: "False/NodesStarting True/SomeNodesReady True/NodesStarting False/AsExpected",
		},
		"the Deployment counts a pod as ready that is not observed to be": {
			size: 2, deployment: testkit.Deployment(2, 2, 2), pods: testkit.With(testkit.Pods(2), testkit.Unready),
			want: "False/NodesStarting True/SomeNodesReady True/NodesStarting False/AsExpected", message: "1 of 2 pods are ready",
		},
		"a pod is observed to be ready that the Deployment does not count": {
			size: 2, deployment: testkit.Deployment(2, 2, 1), pods: testkit.Pods(2),
			want: "False/NodesStarting True/SomeNodesReady True/NodesStarting False/AsExpected", message: "1 of 2 pods are ready",
		},
		"the image cannot be pulled": {
			size: 2, deployment: testkit.Deployment(2, 2, 1), pods: testkit.With(testkit.Pods(2), testkit.WaitingFor("ErrImagePull")),
			want:    "False/NodesFailing True/SomeNodesReady True/NodesStarting True/NodesFailing",
			message: `1 of 2 pods are failing: pod cache-0: the image "memcached:1" of container memcached cannot be pulled (ImagePullBackOff)`,
		},
		"the image cannot be pulled for several pods": {
			size: 3, deployment: testkit.Deployment(3, 3, 0), pods: slices.Concat(
				testkit.With(testkit.Pods(1), testkit.WaitingFor("ErrImagePull")), testkit.With(testkit.Pods(2)[1:], testkit.WaitingFor("ImagePullBackOff")),
				testkit.With(testkit.Pods(3)[2:], testkit.WaitingFor("CreateContainerError"))),
			want: "False/NodesFailing False/NoNodeReady True/NodesStarting True/NodesFailing",
			message: `3 of 3 pods are failing: pod cache-0 and 1 more: the image "memcached:1" of container memcached cannot be pulled (ImagePullBackOff); ` +
				`pod cache-2: with image "memcached:1", container memcached cannot be created (CreateContainerError)`,
		},
		"memcached waits for an image after it was stopped, and the agent has exited": {
			size: 2, deployment: testkit.Deployment(2, 2, 1), pods: testkit.With(testkit.Pods(2), func(pod *corev1.Pod) {
				testkit.WaitingFor("ImagePullBackOff")(pod)
				memcached := pod.Status.ContainerStatuses[0]
				memcached.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: "Completed"}
				agent := corev1.ContainerStatus{Name: "agent", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
				agent.LastTerminationState.Terminated = crashed
				pod.Status.ContainerStatuses = []corev1.ContainerStatus{agent, memcached}
			}),
			want:    "False/NodesFailing True/SomeNodesReady True/NodesStarting True/NodesFailing",
			message: `1 of 2 pods are failing: pod cache-0: the image "memcached:1" of container memcached cannot be pulled (ImagePullBackOff)`,
		},
		"a crashing container that waits": {
			size: 2, deployment: testkit.Deployment(2, 2, 1), pods: testkit.With(testkit.Pods(2), testkit.Container(func(c *corev1.ContainerStatus) {
				c.State.Waiting = &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}
				c.LastTerminationState.Terminated = crashed
			})),
			want:    "False/NodesFailing True/SomeNodesReady True/NodesStarting True/NodesFailing",
			message: "1 of 2 pods are failing: pod cache-0: memcached keeps exiting (OOMKilled, exit code 137)",
		},
		"a crashing container that runs for a moment has the same message": {
			size: 2, deployment: testkit.Deployment(2, 2, 1), pods: testkit.With(testkit.Pods(2), testkit.Container(func(c *corev1.ContainerStatus) {
				c.State.Running = &corev1.ContainerStateRunning{}
				c.LastTerminationState.Terminated = crashed
			})),
			want:    "False/NodesFailing True/SomeNodesReady True/NodesStarting True/NodesFailing",
			message: "1 of 2 pods are failing: pod cache-0: memcached keeps exiting (OOMKilled, exit code 137)",
		},
		"a container that has recovered is no failure": {
			size: 2, deployment: testkit.Deployment(2, 2, 2), pods: testkit.With(testkit.Pods(2), testkit.Container(func(c *corev1.ContainerStatus) {
				c.Ready, c.LastTerminationState.Terminated = true, crashed
			})),
			want: "True/AllNodesReady True/AllNodesReady False/AsExpected False/AsExpected",
		},
		"memcached was restarted on purpose and is unready for a moment": {
			size: 2, deployment: testkit.Deployment(2, 2, 1), pods: testkit.With(testkit.Pods(2), testkit.Container(func(c *corev1.ContainerStatus) {
				c.State.Running = &corev1.ContainerStateRunning{}
				c.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: "Completed"}
			})),
			want: "False/NodesStarting True/SomeNodesReady True/NodesStarting False/AsExpected",
		},
		"the agent crashes": {
			size: 2, deployment: testkit.Deployment(2, 2, 1), pods: testkit.With(testkit.Pods(2), testkit.Container(func(c *corev1.ContainerStatus) {
				c.Name, c.LastTerminationState.Terminated = "agent", crashed
			})),
			want:    "False/NodesFailing True/SomeNodesReady True/NodesStarting True/NodesFailing",
			message: "1 of 2 pods are failing: pod cache-0: the agent keeps exiting (OOMKilled, exit code 137)",
		},
		"a container that is being created is no failure": {
			size: 2, deployment: testkit.Deployment(2, 2, 0), pods: testkit.With(testkit.Pods(2), testkit.WaitingFor("ContainerCreating")),
			want: "False/NodesStarting False/NoNodeReady True/NodesStarting False/AsExpected",
		},
		"a pod cannot be scheduled": {
			size: 2, deployment: testkit.Deployment(2, 2, 1), pods: testkit.With(testkit.Pods(2), func(pod *corev1.Pod) {
				pod.Status.Conditions = []corev1.PodCondition{{
					Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
					Message: "0/1 nodes are available: 1 Insufficient memory.",
				}}
			}),
			want:    "False/NodesUnschedulable True/SomeNodesReady True/NodesStarting True/NodesUnschedulable",
			message: "A pod cannot be scheduled: 0/1 nodes are available: 1 Insufficient memory.",
		},
		"a quota is used up; the message leaves out the name of the pod that was not created": {
			size: 2, deployment: testkit.Deployment(1, 1, 1, appsv1.DeploymentCondition{
				Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue,
				Message: `pods "cache-5d9c8b7f4d-x7k2p" is forbidden: exceeded quota: small`,
			}), pods: testkit.Pods(1),
			want:    "False/NodesRefused True/SomeNodesReady True/NodesStarting True/NodesRefused",
			message: `Kubernetes refuses to create pods: pods "cache" is forbidden: exceeded quota: small`,
		},
		"a rollout takes too long": {
			size: 2, deployment: testkit.Deployment(2, 2, 1, appsv1.DeploymentCondition{
				Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded",
			}), pods: testkit.Pods(2),
			want:    "False/ProgressDeadlineExceeded True/SomeNodesReady True/NodesStarting True/ProgressDeadlineExceeded",
			message: "1 of 2 pods are ready; no progress for ten minutes",
		},
		"the name is taken": {
			size: 3, err: reconcileerror.Terminal(v1alpha1.ReasonNameConflict, errors.New("Deployment cache exists already")),
			want:    "False/NameConflict False/NoNodeReady False/NameConflict True/NameConflict",
			message: "Deployment cache exists already",
		},
		"an object is rejected while the old pods serve": {
			size: 3, err: reconcileerror.Waiting(v1alpha1.ReasonRejected, time.Minute, errors.New("denied by policy")),
			deployment: testkit.Deployment(2, 2, 2), pods: testkit.Pods(2),
			want:    "False/Rejected True/SomeNodesReady True/NodesStarting True/Rejected",
			message: "denied by policy",
		},
		"the API server cannot be reached": {
			size: 3, deployment: testkit.Deployment(3, 3, 3), pods: testkit.Pods(3),
			err:     fmt.Errorf("apply: %w", &url.Error{Op: "Patch", URL: "https://10.0.0.1", Err: errors.New("10.2.3.4:51234: reset")}),
			want:    "False/ReconcileError True/AllNodesReady False/AsExpected True/ReconcileError",
			message: "The API server cannot be reached; retrying",
		},
		"the API server fails": {
			size: 3, deployment: testkit.Deployment(3, 3, 3), pods: testkit.Pods(3),
			err:     apierrors.NewInternalError(errors.New("etcd has no leader")),
			want:    "False/ReconcileError True/AllNodesReady False/AsExpected True/ReconcileError",
			message: "Internal error occurred: etcd has no leader",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := status.Memcached(of(testkit.MakeMemcached("cache").Size(test.size).Generation(7).Obj()), desired.Plan{}, status.Runtime{}, conditions.Reconcile{
				Observed: workload.Observed{Deployment: test.deployment, Pods: test.pods}, Err: test.err, Now: testkit.Now,
			})
			if summary := testkit.Summarise(t, got.Conditions); summary != test.want {
				t.Errorf("conditions are\n%s, want\n%s", summary, test.want)
			}
			ready := meta.FindStatusCondition(got.Conditions, v1alpha1.ConditionReady)
			if test.message != "" && ready.Message != test.message {
				t.Errorf("the message of Ready is %q, want %q", ready.Message, test.message)
			}
		})
	}
}

func TestNodesAreThePodsThatDoNotEnd(t *testing.T) {
	all := testkit.Pods(5)
	all[0].Status.Phase = corev1.PodRunning
	all[1].DeletionTimestamp = &testkit.Now
	all[2].Status.Phase = corev1.PodFailed
	all[3].Status.Phase = corev1.PodSucceeded
	all[4].Status.Phase = corev1.PodPending
	got := status.Memcached(of(testkit.MakeMemcached("cache").Size(2).Obj()), desired.Plan{}, status.Runtime{}, conditions.Reconcile{
		Observed: workload.Observed{Deployment: testkit.Deployment(2, 2, 2), Pods: all}, Now: testkit.Now,
	})
	if difference := cmp.Diff([]string{"cache-0", "cache-4"}, got.Nodes); difference != "" {
		t.Errorf("nodes (-want +got):\n%s", difference)
	}
}

func TestObservedGenerationChangesOnlyAfterASuccessfulReconcile(t *testing.T) {
	memcached := testkit.MakeMemcached("cache").Size(2).Generation(7).
		Status(v1alpha1.MemcachedStatus{ObservedGeneration: 6}).Obj()
	reconcile := conditions.Reconcile{Selector: "a=b", Err: errors.New("failed"), Now: testkit.Now}
	if got := status.Memcached(of(memcached), desired.Plan{}, status.Runtime{}, reconcile); got.ObservedGeneration != 6 || got.Selector != "a=b" {
		t.Errorf("after a failed reconcile the status is %+v", got)
	}
	reconcile.Err = nil
	if got := status.Memcached(of(memcached), desired.Plan{}, status.Runtime{}, reconcile); got.ObservedGeneration != 7 {
		t.Errorf("after a successful reconcile observedGeneration is %d", got.ObservedGeneration)
	}
}

func TestTheStatusIsStable(t *testing.T) {
	in := of(testkit.MakeMemcached("cache").Size(2).Obj())
	reconcile := conditions.Reconcile{Observed: workload.Observed{Deployment: testkit.Deployment(2, 2, 2), Pods: testkit.Pods(2)}, Now: testkit.Now}
	first := status.Memcached(in, desired.Plan{}, status.Runtime{}, reconcile)
	in.Memcached.Status = first
	reconcile.Now = metav1.NewTime(testkit.Now.Add(time.Hour))
	if difference := cmp.Diff(first, status.Memcached(in, desired.Plan{}, status.Runtime{}, reconcile)); difference != "" {
		t.Errorf("an hour later the status differs:\n%s", difference)
	}
}

func TestConditionsOfOthersAreKept(t *testing.T) {
	other := metav1.Condition{Type: "example.com/Other", Status: metav1.ConditionTrue, Reason: "Because", LastTransitionTime: testkit.Now}
	got := status.Memcached(
		of(testkit.MakeMemcached("cache").Status(v1alpha1.MemcachedStatus{Conditions: []metav1.Condition{other}}).Obj()),
		desired.Plan{}, status.Runtime{}, conditions.Reconcile{Now: testkit.Now})
	if kept := meta.FindStatusCondition(got.Conditions, other.Type); kept == nil || *kept != other {
		t.Errorf("the condition of somebody else became %+v", kept)
	}
}
