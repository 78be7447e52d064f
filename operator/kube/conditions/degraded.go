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

// Check looks for one thing that is wrong.
type Check func(Workload) (reason, message string, wrong bool)

// degraded reports what the user should hear first: what keeps the operator from acting, then what is missing, then what
// keeps Kubernetes from acting, then what is wrong with the pods, and last that it all takes too long.
func (w Workload) degraded() metav1.Condition {
	for _, check := range slices.Concat(
		[]Check{passFailed}, w.Checks, []Check{podsRefused, podsFailing, podsUnschedulable, deadlineExceeded},
	) {
		if reason, message, wrong := check(w); wrong {
			return metav1.Condition{
				Type: v1alpha1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: reason, Message: message,
			}
		}
	}
	return metav1.Condition{
		Type: v1alpha1.ConditionDegraded, Status: metav1.ConditionFalse,
		Reason: v1alpha1.ReasonAsExpected, Message: "Nothing is wrong",
	}
}

func passFailed(w Workload) (string, string, bool) {
	if w.Err == nil {
		return "", "", false
	}
	return reasonOf(w.Err), messageOf(w.Err), true
}

// reasonOf returns the reason an error was marked with.
func reasonOf(err error) string {
	if _, reason := reconcileerror.Describe(err); reason != "" {
		return reason
	}
	return v1alpha1.ReasonReconcileError
}

// messageOf returns a message that stays the same as long as the error does. Errors of the network name ports and
// addresses, which change with every try, so they are only classed.
func messageOf(err error) string {
	var network *url.Error
	if errors.As(err, &network) {
		return "The API server could not be reached; the operator tries again"
	}
	if status := apierrors.APIStatus(nil); errors.As(err, &status) && apierrors.ReasonForError(err) == metav1.StatusReasonUnknown {
		return "The API server failed; the operator tries again"
	}
	return err.Error()
}

// podsRefused reports what the Deployment says about pods that the API server did not let it create.
func podsRefused(w Workload) (string, string, bool) {
	account := w.Observed.Workload()
	if account == nil || account.CreateFailure == "" {
		return "", "", false
	}
	// The message names a pod that never came to be, by a name that is new each time.
	name := account.Name
	podName := regexp.MustCompile(regexp.QuoteMeta(name) + `-[a-z0-9]+-[a-z0-9]*`)
	return w.Refused, fmt.Sprintf("Kubernetes refuses to create %s: %s",
		w.Many, podName.ReplaceAllString(account.CreateFailure, name)), true
}

func podsFailing(w Workload) (string, string, bool) {
	var failures []string
	failing := 0
	for i := range w.Observed.Pods {
		if w.Update != nil && !w.Update.Stuck && w.Update.Pod == w.Observed.Pods[i].Name {
			continue // It is being restarted, and the progress tells how that goes.
		}
		if failure := failureOf(&w.Observed.Pods[i], w.Process); failure != "" {
			failing++
			failures = append(failures, failure)
		}
	}
	if failing == 0 {
		return "", "", false
	}
	slices.Sort(failures)
	return w.Failing, fmt.Sprintf("%s failing: %s",
		w.count(int32(failing)), strings.Join(slices.Compact(failures), "; ")), true
}

// failureOf returns why a pod's container does not run, empty when it does or is on the way.
func failureOf(pod *corev1.Pod, process string) string {
	if pods.Ending(pod) {
		return ""
	}
	for i := range pod.Status.ContainerStatuses {
		container := &pod.Status.ContainerStatuses[i]
		switch failure, fails := pods.StartFailureOf(*container); {
		case fails && failure.OfImage:
			return "the image " + failure.Problem
		case fails:
			return "the container " + failure.Problem
		}
		// A container that keeps ending is now waiting, now running, now ended: it has recovered when it is ready.
		if ended := lastEnd(container); ended != nil && !container.Ready && !restarted(container) {
			if container.Name == agentapi.AgentContainer {
				process = "the agent"
			}
			return fmt.Sprintf("%s does not keep running (%s, exit code %d)", process, ended.Reason, ended.ExitCode)
		}
	}
	return ""
}

// restarted tells whether a container runs and ended in order before, as memcached does when it is upgraded.
func restarted(container *corev1.ContainerStatus) bool {
	before := container.LastTerminationState.Terminated
	return container.State.Running != nil && before != nil && before.ExitCode == 0
}

// lastEnd returns how the container last ended, nil when it never has.
func lastEnd(container *corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	if container.State.Terminated != nil {
		return container.State.Terminated
	}
	return container.LastTerminationState.Terminated
}

func podsUnschedulable(w Workload) (string, string, bool) {
	for i := range w.Observed.Pods {
		pod := &w.Observed.Pods[i]
		if why, unschedulable := pods.Unschedulable(pod); unschedulable && !pods.Ending(pod) {
			return w.Unschedulable, fmt.Sprintf("No machine has room for a %s: %s", w.One, why), true
		}
	}
	return "", "", false
}

func deadlineExceeded(w Workload) (string, string, bool) {
	if account := w.Observed.Workload(); account == nil || !account.DeadlineExceeded {
		return "", "", false
	}
	return v1alpha1.ReasonProgressDeadlineExceeded, fmt.Sprintf(
		"%s ready, and there has been no progress for ten minutes", w.count(w.ReadyPods())), true
}
