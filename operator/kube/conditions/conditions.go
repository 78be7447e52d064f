// Package conditions computes the conditions Ready, Available, Progressing and Degraded from observed objects and the
// result of a reconcile, for any kind that runs pods. It is pure: the time is an input, and earlier conditions only decide
// the time of the last transition.
package conditions

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/pods"
	"github.com/example/memcached-operator/operator/kube/workload"
)

// Reconcile is the result of a reconcile of an object.
type Reconcile struct {
	// Observed is the state of the object's children.
	Observed workload.Observed

	// Selector selects the object's pods.
	Selector string

	// Err is the error of the reconcile, nil if it succeeded.
	Err error

	// Now is the transition time of conditions that change.
	Now metav1.Time
}

// Wording is what a kind calls the process in its pods, and the condition reasons that it uses.
type Wording struct {
	Process string

	AllReady, ScaledToZero, SomeReady, NoneReady string
	Starting, Updating, Stopping                 string
	Failing, Unschedulable, Refused              string
}

// Workload is what the conditions of a kind are computed from.
type Workload struct {
	Reconcile
	Wording

	// Wanted is the number of pods in the object's spec.
	Wanted int32

	// Generation is the object's metadata.generation.
	Generation int64

	// Update is the progress of an update that the operator performs itself, nil if Kubernetes performs it.
	Update *workload.Progress

	// Checks detect problems that only this kind can have, and Waits what it waits for that needs nobody to act.
	Checks, Waits []Check
}

// SetAll sets the four conditions. It keeps conditions of other types, and the transition time of a condition whose
// status has not changed.
func (w Workload) SetAll(conditions *[]metav1.Condition) {
	degraded, progressing := w.degraded(), w.progressing()
	for _, condition := range []metav1.Condition{
		w.ready(degraded, progressing), w.available(), progressing, degraded,
	} {
		w.Set(conditions, condition)
	}
}

// SetUnread sets the conditions of an object for which a reconcile could not read what it needs: Degraded is True and Ready is
// False, with the error. What the other conditions say was true before, and nothing has been changed since.
func SetUnread(conditions *[]metav1.Condition, generation int64, err error, now metav1.Time) {
	unread := Workload{Reconcile: Reconcile{Err: err, Now: now}, Generation: generation}
	degraded := unread.degraded()
	unread.Set(conditions, degraded)
	unread.Set(conditions, unread.ready(degraded, metav1.Condition{}))
}

// maxMessage is the longest message of a condition, in characters. The API server refuses a status with a longer one.
const maxMessage = 32768

// Set sets one condition. It shortens a message that is too long.
func (w Workload) Set(conditions *[]metav1.Condition, condition metav1.Condition) {
	if text := []rune(condition.Message); len(text) > maxMessage {
		condition.Message = string(text[:maxMessage-1]) + "…"
	}
	condition.ObservedGeneration = w.Generation
	condition.LastTransitionTime = w.Now
	meta.SetStatusCondition(conditions, condition)
}

// ready summarises the other conditions: Degraded takes precedence over Progressing.
func (w Workload) ready(degraded, progressing metav1.Condition) metav1.Condition {
	condition := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse}
	switch {
	case degraded.Status == metav1.ConditionTrue:
		condition.Reason, condition.Message = degraded.Reason, degraded.Message
	case progressing.Status == metav1.ConditionTrue:
		condition.Reason, condition.Message = progressing.Reason, progressing.Message
	case w.Wanted == 0:
		condition.Status, condition.Reason = metav1.ConditionTrue, w.ScaledToZero
		condition.Message = "No pods are wanted and none run"
	default:
		condition.Status, condition.Reason = metav1.ConditionTrue, w.AllReady
		condition.Message = fmt.Sprintf("%s ready", w.count(w.ReadyPods()))
	}
	return condition
}

func (w Workload) available() metav1.Condition {
	condition := metav1.Condition{Type: v1alpha1.ConditionAvailable, Status: metav1.ConditionTrue}
	ready := w.ReadyPods()
	condition.Message = fmt.Sprintf("%s ready", w.count(ready))
	switch {
	case w.Wanted == 0:
		condition.Reason, condition.Message = w.ScaledToZero, "No pods are wanted"
	case ready == 0:
		condition.Status, condition.Reason = metav1.ConditionFalse, w.NoneReady
	case ready < w.Wanted:
		condition.Reason = w.SomeReady
	default:
		condition.Reason = w.AllReady
	}
	return condition
}

// progressing compares the status of the workload with the spec. The pods have to agree, because workload and pods are watched
// separately: a status must not list five pods, or one that is not ready, and say that all three wanted ones are ready.
func (w Workload) progressing() metav1.Condition {
	condition := metav1.Condition{Type: v1alpha1.ConditionProgressing, Status: metav1.ConditionTrue}
	ready, running := w.ReadyPods(), int32(len(PodNames(w.Observed.Pods)))
	status := w.Observed.Workload()
	switch {
	case w.Err != nil && status == nil:
		condition.Status, condition.Reason = metav1.ConditionFalse, reasonOf(w.Err)
		condition.Message = messageOf(w.Err)
	case status == nil:
		condition.Reason, condition.Message = w.Starting, "Creating pods"
	case !status.Observed:
		condition.Reason, condition.Message = w.expectedReason(), "Kubernetes has not processed the latest change yet"
	case status.Updated < min(w.Replicas(), w.Wanted):
		condition.Reason = w.Updating
		condition.Message = w.updatingMessage(status)
	case w.Replicas() > w.Wanted || running > w.Wanted:
		condition.Reason = w.Stopping
		condition.Message = fmt.Sprintf("Stopping surplus pods: %d wanted", w.Wanted)
	case ready < w.Wanted || running < w.Wanted:
		condition.Reason = w.Starting
		condition.Message = fmt.Sprintf("%s ready", w.count(ready))
	case w.Update != nil && w.Update.Pulling != "":
		condition.Reason, condition.Message = w.Updating, w.Update.Pulling
	default:
		return w.waiting()
	}
	return condition
}

// waiting is the condition Progressing when the pods are as they should be.
func (w Workload) waiting() metav1.Condition {
	for _, wait := range w.Waits {
		if reason, message, waits := wait(w); waits {
			return metav1.Condition{Type: v1alpha1.ConditionProgressing, Status: metav1.ConditionTrue, Reason: reason, Message: message}
		}
	}
	return metav1.Condition{
		Type: v1alpha1.ConditionProgressing, Status: metav1.ConditionFalse,
		Reason: v1alpha1.ReasonAsExpected, Message: "No change is in progress",
	}
}

// updatingMessage says how many pods have the latest template, and what the operator does about the next one. The operator leaves a
// Deployment paused that somebody else has paused.
func (w Workload) updatingMessage(status *workload.Status) string {
	if w.Update == nil {
		message := fmt.Sprintf("%s up to date", w.count(status.Updated))
		if status.Paused {
			message += fmt.Sprintf(". Deployment %[1]s is paused: kubectl rollout resume deployment %[1]s -n %[2]s", status.Name, status.Namespace)
		}
		return message
	}
	message := fmt.Sprintf("%s up to date", w.count(w.Update.Updated))
	if w.Update.Message != "" {
		message += ". " + w.Update.Message
	}
	return message
}

// expectedReason predicts what Kubernetes is going to do about a spec that it has not observed yet.
func (w Workload) expectedReason() string {
	switch replicas := w.Observed.Workload().Replicas; {
	case replicas < w.Wanted:
		return w.Starting
	case replicas > w.Wanted:
		return w.Stopping
	}
	return w.Updating
}

// Replicas returns the number of pods.
func (w Workload) Replicas() int32 {
	var replicas int32
	for _, status := range w.statuses() {
		replicas += status.Replicas
	}
	return replicas
}

// ReadyPods returns the number of pods that are ready according to both the status of the workload and the pods themselves: either may
// have been seen before the other.
func (w Workload) ReadyPods() int32 {
	var counted, seen int32
	for _, status := range w.statuses() {
		counted += status.Ready
	}
	for i := range w.Observed.Pods {
		if pods.Usable(&w.Observed.Pods[i]) {
			seen++
		}
	}
	return min(counted, seen)
}

// statuses returns the status of the wanted workload, and of the one that it replaces.
func (w Workload) statuses() []*workload.Status {
	return slices.DeleteFunc([]*workload.Status{w.Observed.Workload(), w.Observed.Outgoing},
		func(status *workload.Status) bool { return status == nil })
}

// count returns "2 of 3 pods are" or "1 of 1 pod is". Surplus pods do not count.
func (w Workload) count(some int32) string {
	some = min(some, w.Wanted)
	if w.Wanted == 1 {
		return fmt.Sprintf("%d of 1 pod is", some)
	}
	return fmt.Sprintf("%d of %d pods are", some, w.Wanted)
}

// PodNames returns the names of the pods that are neither being deleted nor terminated, in the given order.
func PodNames(all []corev1.Pod) []string {
	var names []string
	for i := range all {
		if !pods.Ending(&all[i]) {
			names = append(names, all[i].Name)
		}
	}
	return names
}
