package conditions

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/pods"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
)

// Check detects one kind of problem.
type Check func(Workload) (reason, message string, wrong bool)

// degraded reports the first problem in this order: the reconcile failed, the checks of the kind, pods cannot be
// created, pods fail, pods cannot be scheduled, the rollout exceeded its deadline.
func (w Workload) degraded() metav1.Condition {
	for _, check := range slices.Concat(
		[]Check{reconcileFailed}, w.Checks, []Check{podsRefused, podsFailing, podsUnschedulable, deadlineExceeded},
	) {
		if reason, message, wrong := check(w); wrong {
			return metav1.Condition{
				Type: v1alpha1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: reason, Message: message,
			}
		}
	}
	return metav1.Condition{
		Type: v1alpha1.ConditionDegraded, Status: metav1.ConditionFalse,
		Reason: v1alpha1.ReasonAsExpected, Message: "No problem found",
	}
}

func reconcileFailed(w Workload) (string, string, bool) {
	if w.Err == nil {
		return "", "", false
	}
	return reasonOf(w.Err), messageOf(w.Err), true
}

// reasonOf returns the reason of a reconcile error, ReconcileError for other errors.
func reasonOf(err error) string {
	if _, reason := reconcileerror.Describe(err); reason != "" {
		return reason
	}
	return v1alpha1.ReasonReconcileError
}

// messageOf returns a message that is the same for the same error. Network errors contain ports and addresses that
// differ with each attempt, so their text is left out.
func messageOf(err error) string {
	var network *url.Error
	if errors.As(err, &network) {
		return "The API server cannot be reached; retrying"
	}
	if status := apierrors.APIStatus(nil); errors.As(err, &status) && apierrors.ReasonForError(err) == metav1.StatusReasonUnknown {
		return "The API server returned an unknown error; retrying"
	}
	return err.Error()
}

// podsRefused reports that the API server rejects new pods.
func podsRefused(w Workload) (string, string, bool) {
	status := w.Observed.Workload()
	if status == nil || status.CreateFailure == "" {
		return "", "", false
	}
	// The message contains the generated name of the pod, which differs with each attempt.
	name := status.Name
	podName := regexp.MustCompile(regexp.QuoteMeta(name) + `-[a-z0-9]+-[a-z0-9]*`)
	return w.Refused, "Kubernetes refuses to create pods: " + podName.ReplaceAllString(status.CreateFailure, name), true
}

func podsFailing(w Workload) (string, string, bool) {
	var failures []string
	first, others := map[string]string{}, map[string]int{}
	failing := 0
	for i := range w.Observed.Pods {
		pod := &w.Observed.Pods[i]
		if w.Update != nil && !w.Update.Stuck && w.Update.Pod == pod.Name {
			continue // The operator restarts this pod; the condition Progressing reports it.
		}
		failure := failureOf(pod, w.Process)
		if failure == "" {
			continue
		}
		failing++
		if first[failure] != "" {
			others[failure]++
			continue
		}
		failures, first[failure] = append(failures, failure), pod.Name
	}
	if failing == 0 {
		return "", "", false
	}
	for i, failure := range failures {
		where := "pod " + first[failure]
		if others[failure] > 0 {
			where += fmt.Sprintf(" and %d more", others[failure])
		}
		failures[i] = where + ": " + failure
	}
	return w.Failing, fmt.Sprintf("%s failing: %s", w.count(int32(failing)), strings.Join(failures, "; ")), true
}

// failureOf returns why a container of the pod does not run, empty if all run or are starting. A container that cannot start comes
// before one that keeps exiting, which may be a consequence.
func failureOf(pod *corev1.Pod, process string) string {
	if pods.Ending(pod) {
		return ""
	}
	for _, status := range pod.Status.ContainerStatuses {
		container := pods.Container(pod.Spec.Containers, status.Name)
		if container == nil {
			continue
		}
		if failure := pods.StartFailure(*container, status); failure != "" {
			return failure
		}
	}
	for i := range pod.Status.ContainerStatuses {
		container := &pod.Status.ContainerStatuses[i]
		// A container that keeps exiting alternates between waiting, running and terminated. It has recovered when it is ready.
		if exit := lastExit(container); exit != nil && !container.Ready && !restarted(container) {
			if container.Name == agentapi.AgentContainer {
				process = "the agent"
			}
			return fmt.Sprintf("%s keeps exiting (%s, exit code %d)", process, exit.Reason, exit.ExitCode)
		}
	}
	return ""
}

// restarted tells whether a container runs and exited with code 0 before, as memcached does in a warm restart.
func restarted(container *corev1.ContainerStatus) bool {
	before := container.LastTerminationState.Terminated
	return container.State.Running != nil && before != nil && before.ExitCode == 0
}

// lastExit returns the last termination of the container, nil if there was none.
func lastExit(container *corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	if container.State.Terminated != nil {
		return container.State.Terminated
	}
	return container.LastTerminationState.Terminated
}

func podsUnschedulable(w Workload) (string, string, bool) {
	for i := range w.Observed.Pods {
		pod := &w.Observed.Pods[i]
		if why, unschedulable := pods.Unschedulable(pod); unschedulable && !pods.Ending(pod) {
			return w.Unschedulable, "A pod cannot be scheduled: " + why, true
		}
	}
	return "", "", false
}

func deadlineExceeded(w Workload) (string, string, bool) {
	if status := w.Observed.Workload(); status == nil || !status.DeadlineExceeded {
		return "", "", false
	}
	return v1alpha1.ReasonProgressDeadlineExceeded, fmt.Sprintf(
		"%s ready; no progress for ten minutes", w.count(w.ReadyPods())), true
}
