package status

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/nodes"
	"github.com/example/memcached-operator/operator/pods"
	"github.com/example/memcached-operator/operator/rollout"
	"github.com/example/memcached-operator/operator/scope"
)

// Pass is how a pass over an object went.
type Pass struct {
	// Observed is what was found of the object's children.
	Observed scope.Observed

	// Selector selects the object's pods.
	Selector string

	// Err is what the pass ended with, nil when it did all it had to.
	Err error

	// Now is the time of conditions that change.
	Now metav1.Time
}

// vocabulary is how a kind speaks of its pods, and the reasons it gives.
type vocabulary struct {
	// one and many are what a pod and pods are called; process is what runs in one.
	one, many, process string

	allReady, scaledToZero, someReady, noneReady string
	starting, updating, stopping                 string
	failing, unschedulable, refused              string
}

// workload is what both kinds come down to: a number of pods that are wanted, and what makes them.
type workload struct {
	Pass
	vocabulary

	// wanted is the number of pods that the object asks for.
	wanted int32

	// generation is that of the object.
	generation int64

	// steps is how far nodes are that the operator itself brings to their template, nil if Kubernetes does.
	steps *nodes.Progress

	// checks look for what can be wrong with this kind alone.
	checks []check
}

// conditions sets the four conditions. Those that others have added are kept, and so is the time of a condition that
// has not changed.
func (w workload) conditions(conditions *[]metav1.Condition) {
	degraded, progressing := w.degraded(), w.progressing()
	for _, condition := range []metav1.Condition{
		w.ready(degraded, progressing), w.available(), progressing, degraded,
	} {
		w.set(conditions, condition)
	}
}

// set sets one condition.
func (w workload) set(conditions *[]metav1.Condition, condition metav1.Condition) {
	condition.ObservedGeneration = w.generation
	condition.LastTransitionTime = w.Now
	meta.SetStatusCondition(conditions, condition)
}

// ready summarises the other conditions: what is wrong comes before what is under way.
func (w workload) ready(degraded, progressing metav1.Condition) metav1.Condition {
	condition := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse}
	switch {
	case degraded.Status == metav1.ConditionTrue:
		condition.Reason, condition.Message = degraded.Reason, degraded.Message
	case progressing.Status == metav1.ConditionTrue:
		condition.Reason, condition.Message = progressing.Reason, progressing.Message
	case w.wanted == 0:
		condition.Status, condition.Reason = metav1.ConditionTrue, w.scaledToZero
		condition.Message = fmt.Sprintf("No %s is wanted, and none runs", w.one)
	default:
		condition.Status, condition.Reason = metav1.ConditionTrue, w.allReady
		condition.Message = fmt.Sprintf("%s ready", w.count(w.readyPods()))
	}
	return condition
}

func (w workload) available() metav1.Condition {
	condition := metav1.Condition{Type: v1alpha1.ConditionAvailable, Status: metav1.ConditionTrue}
	ready := w.readyPods()
	condition.Message = fmt.Sprintf("%s ready", w.count(ready))
	switch {
	case w.wanted == 0:
		condition.Reason, condition.Message = w.scaledToZero, fmt.Sprintf("No %s is wanted", w.one)
	case ready == 0:
		condition.Status, condition.Reason = metav1.ConditionFalse, w.noneReady
	case ready < w.wanted:
		condition.Reason = w.someReady
	default:
		condition.Reason = w.allReady
	}
	return condition
}

// progressing looks at the own account of what makes the pods. The pods have to agree, because both are watched
// separately, and a status must not list five nodes while it says that the three wanted are ready.
func (w workload) progressing() metav1.Condition {
	condition := metav1.Condition{Type: v1alpha1.ConditionProgressing, Status: metav1.ConditionTrue}
	ready, running := w.readyPods(), int32(len(podNames(w.Observed.Pods)))
	account := w.Observed.Rollout()
	switch {
	case w.Err != nil && account == nil:
		condition.Status, condition.Reason = metav1.ConditionFalse, reasonOf(w.Err)
		condition.Message = messageOf(w.Err)
	case account == nil:
		condition.Reason, condition.Message = w.starting, fmt.Sprintf("The %s are about to be created", w.many)
	case !account.Seen:
		condition.Reason, condition.Message = w.unseenReason(), "Kubernetes has yet to act on the newest change"
	case account.Updated < min(w.replicas(), w.wanted):
		condition.Reason = w.updating
		condition.Message = w.updatingMessage(account)
	case w.replicas() > w.wanted || running > w.wanted:
		condition.Reason = w.stopping
		condition.Message = fmt.Sprintf("Stopping what is more than the %d wanted", w.wanted)
	case ready < w.wanted || running < w.wanted:
		condition.Reason = w.starting
		condition.Message = fmt.Sprintf("%s ready", w.count(ready))
	default:
		condition.Status, condition.Reason = metav1.ConditionFalse, v1alpha1.ReasonAsExpected
		condition.Message = "Nothing is being changed"
	}
	return condition
}

// updatingMessage says how many pods are of the newest template, and what is done about the next one.
func (w workload) updatingMessage(account *rollout.Account) string {
	if w.steps == nil {
		return fmt.Sprintf("%s replaced", w.count(account.Updated))
	}
	message := fmt.Sprintf("%s up to date", w.count(w.steps.Updated))
	if w.steps.Why != "" {
		message += ". " + w.steps.Why
	}
	return message
}

// unseenReason guesses what Kubernetes is going to do.
func (w workload) unseenReason() string {
	switch replicas := w.Observed.Rollout().Replicas; {
	case replicas < w.wanted:
		return w.starting
	case replicas > w.wanted:
		return w.stopping
	}
	return w.updating
}

// replicas returns how many pods exist.
func (w workload) replicas() int32 {
	var replicas int32
	for _, account := range w.accounts() {
		replicas += account.Replicas
	}
	return replicas
}

// readyPods returns how many pods are ready.
func (w workload) readyPods() int32 {
	var ready int32
	for _, account := range w.accounts() {
		ready += account.Ready
	}
	return ready
}

// accounts returns those of what runs the pods, and of what still does.
func (w workload) accounts() []*rollout.Account {
	return slices.DeleteFunc([]*rollout.Account{w.Observed.Rollout(), w.Observed.Leaving},
		func(account *rollout.Account) bool { return account == nil })
}

// count says "2 of 3 nodes are" or "1 of 1 node is". Pods beyond those wanted do not count.
func (w workload) count(some int32) string {
	some = min(some, w.wanted)
	if w.wanted == 1 {
		return fmt.Sprintf("%d of 1 %s is", some, w.one)
	}
	return fmt.Sprintf("%d of %d %s are", some, w.wanted, w.many)
}

// podNames returns the names of the pods that run or are about to, in the order of the pods.
func podNames(all []corev1.Pod) []string {
	var names []string
	for i := range all {
		if !pods.Leaves(&all[i]) {
			names = append(names, all[i].Name)
		}
	}
	return names
}
