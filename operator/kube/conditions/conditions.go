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

// Reconcile is how a pass over an object went.
type Reconcile struct {
	// Observed is what was found of the object's children.
	Observed workload.Observed

	// Selector selects the object's pods.
	Selector string

	// Err is what the pass ended with, nil when it did all it had to.
	Err error

	// Now is the time of conditions that change.
	Now metav1.Time
}

// vocabulary is how a kind speaks of its pods, and the reasons it gives.
type Wording struct {
	// One and many are what a pod and pods are called; process is what runs in one.
	One, Many, Process string

	AllReady, ScaledToZero, SomeReady, NoneReady string
	Starting, Updating, Stopping                 string
	Failing, Unschedulable, Refused              string
}

// Workload is what both kinds come down to: a number of pods that are wanted, and what makes them.
type Workload struct {
	Reconcile
	Wording

	// Wanted is the number of pods that the object asks for.
	Wanted int32

	// Generation is that of the object.
	Generation int64

	// Update is how far nodes are that the operator itself brings to their template, nil if Kubernetes does.
	Update *workload.Progress

	// Checks look for what can be wrong with this kind alone.
	Checks []Check
}

// conditions sets the four conditions. Those that others have added are kept, and so is the time of a condition that
// has not changed.
func (w Workload) SetAll(conditions *[]metav1.Condition) {
	degraded, progressing := w.degraded(), w.progressing()
	for _, condition := range []metav1.Condition{
		w.ready(degraded, progressing), w.available(), progressing, degraded,
	} {
		w.Set(conditions, condition)
	}
}

// set sets one condition.
func (w Workload) Set(conditions *[]metav1.Condition, condition metav1.Condition) {
	condition.ObservedGeneration = w.Generation
	condition.LastTransitionTime = w.Now
	meta.SetStatusCondition(conditions, condition)
}

// ready summarises the other conditions: what is wrong comes before what is under way.
func (w Workload) ready(degraded, progressing metav1.Condition) metav1.Condition {
	condition := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse}
	switch {
	case degraded.Status == metav1.ConditionTrue:
		condition.Reason, condition.Message = degraded.Reason, degraded.Message
	case progressing.Status == metav1.ConditionTrue:
		condition.Reason, condition.Message = progressing.Reason, progressing.Message
	case w.Wanted == 0:
		condition.Status, condition.Reason = metav1.ConditionTrue, w.ScaledToZero
		condition.Message = fmt.Sprintf("No %s is wanted, and none runs", w.One)
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
		condition.Reason, condition.Message = w.ScaledToZero, fmt.Sprintf("No %s is wanted", w.One)
	case ready == 0:
		condition.Status, condition.Reason = metav1.ConditionFalse, w.NoneReady
	case ready < w.Wanted:
		condition.Reason = w.SomeReady
	default:
		condition.Reason = w.AllReady
	}
	return condition
}

// progressing looks at the own account of what makes the pods. The pods have to agree, because both are watched
// separately, and a status must not list five nodes while it says that the three wanted are ready.
func (w Workload) progressing() metav1.Condition {
	condition := metav1.Condition{Type: v1alpha1.ConditionProgressing, Status: metav1.ConditionTrue}
	ready, running := w.ReadyPods(), int32(len(PodNames(w.Observed.Pods)))
	account := w.Observed.Workload()
	switch {
	case w.Err != nil && account == nil:
		condition.Status, condition.Reason = metav1.ConditionFalse, reasonOf(w.Err)
		condition.Message = messageOf(w.Err)
	case account == nil:
		condition.Reason, condition.Message = w.Starting, fmt.Sprintf("The %s are about to be created", w.Many)
	case !account.Observed:
		condition.Reason, condition.Message = w.unseenReason(), "Kubernetes has yet to act on the newest change"
	case account.Updated < min(w.Replicas(), w.Wanted):
		condition.Reason = w.Updating
		condition.Message = w.updatingMessage(account)
	case w.Replicas() > w.Wanted || running > w.Wanted:
		condition.Reason = w.Stopping
		condition.Message = fmt.Sprintf("Stopping what is more than the %d wanted", w.Wanted)
	case ready < w.Wanted || running < w.Wanted:
		condition.Reason = w.Starting
		condition.Message = fmt.Sprintf("%s ready", w.count(ready))
	default:
		condition.Status, condition.Reason = metav1.ConditionFalse, v1alpha1.ReasonAsExpected
		condition.Message = "Nothing is being changed"
	}
	return condition
}

// updatingMessage says how many pods are of the newest template, and what is done about the next one.
func (w Workload) updatingMessage(account *workload.Status) string {
	if w.Update == nil {
		return fmt.Sprintf("%s replaced", w.count(account.Updated))
	}
	message := fmt.Sprintf("%s up to date", w.count(w.Update.Updated))
	if w.Update.Message != "" {
		message += ". " + w.Update.Message
	}
	return message
}

// unseenReason guesses what Kubernetes is going to do.
func (w Workload) unseenReason() string {
	switch replicas := w.Observed.Workload().Replicas; {
	case replicas < w.Wanted:
		return w.Starting
	case replicas > w.Wanted:
		return w.Stopping
	}
	return w.Updating
}

// Replicas returns how many pods exist.
func (w Workload) Replicas() int32 {
	var replicas int32
	for _, account := range w.accounts() {
		replicas += account.Replicas
	}
	return replicas
}

// ReadyPods returns how many pods are ready.
func (w Workload) ReadyPods() int32 {
	var ready int32
	for _, account := range w.accounts() {
		ready += account.Ready
	}
	return ready
}

// accounts returns those of what runs the pods, and of what still does.
func (w Workload) accounts() []*workload.Status {
	return slices.DeleteFunc([]*workload.Status{w.Observed.Workload(), w.Observed.Outgoing},
		func(account *workload.Status) bool { return account == nil })
}

// count says "2 of 3 nodes are" or "1 of 1 node is". Pods beyond those wanted do not count.
func (w Workload) count(some int32) string {
	some = min(some, w.Wanted)
	if w.Wanted == 1 {
		return fmt.Sprintf("%d of 1 %s is", some, w.One)
	}
	return fmt.Sprintf("%d of %d %s are", some, w.Wanted, w.Many)
}

// PodNames returns the names of the pods that run or are about to, in the order of the pods.
func PodNames(all []corev1.Pod) []string {
	var names []string
	for i := range all {
		if !pods.Ending(&all[i]) {
			names = append(names, all[i].Name)
		}
	}
	return names
}
