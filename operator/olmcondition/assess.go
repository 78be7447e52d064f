package olmcondition

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The reasons of the condition Upgradeable, and of the events about it.
const (
	// ReasonNothingInProgress: there is no rollout that an upgrade would interrupt.
	ReasonNothingInProgress = "NothingInProgress"

	// ReasonRolloutInProgress: pods are being replaced because the operator has changed their template. The next version
	// may change the template again and would replace the pods a second time before the first rollout has ended.
	ReasonRolloutInProgress = "RolloutInProgress"
)

// explanations are the messages of the reasons for Upgradeable False. If several apply, the condition has the first
// reason.
var explanations = []struct{ reason, text string }{
	{ReasonRolloutInProgress, "Pods are being replaced because the operator changed their template"},
}

// maxNamed is the maximum number of objects that a message names.
const maxNamed = 3

// Object identifies a custom resource, for example the Memcached default/example-memcached.
type Object struct {
	Kind      string
	Namespace string
	Name      string
}

// ObjectOf returns the object of a kind and name.
func ObjectOf(kind string, name types.NamespacedName) Object {
	return Object{Kind: kind, Namespace: name.Namespace, Name: name.Name}
}

// String returns for example "Memcached default/example-memcached".
func (o Object) String() string { return fmt.Sprintf("%s %s/%s", o.Kind, o.Namespace, o.Name) }

// Work is something in progress that an upgrade of the operator should not interrupt.
type Work struct {
	// Object is the object to wait for.
	Object Object

	// Reason is one of the reasons above.
	Reason string
}

// Facts is the input of Assess.
type Facts struct {
	// Work is all work in progress, in any order.
	Work []Work
}

// Assess returns status, reason and message of the condition Upgradeable. It is False while work is in progress; the
// message then names the objects to wait for.
func Assess(facts Facts) (status metav1.ConditionStatus, reason, message string) {
	objects := map[string][]Object{}
	for _, work := range facts.Work {
		objects[work.Reason] = append(objects[work.Reason], work.Object)
	}
	var sentences []string
	for _, explanation := range explanations {
		waitFor := objects[explanation.reason]
		if len(waitFor) == 0 {
			continue
		}
		reason = cmp.Or(reason, explanation.reason)
		sentences = append(sentences, explanation.text+": wait for "+named(waitFor))
	}
	if len(sentences) == 0 {
		return metav1.ConditionTrue, ReasonNothingInProgress, "No rollout is in progress"
	}
	return metav1.ConditionFalse, reason, strings.Join(sentences, ". ") +
		". The rollout ends by itself; to upgrade now, set Upgradeable to True in spec.overrides"
}

// named lists objects in alphabetical order and names the first maxNamed.
func named(objects []Object) string {
	names := make([]string, len(objects))
	for i, object := range objects {
		names[i] = object.String()
	}
	slices.Sort(names)
	if more := len(names) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), more)
	}
	return strings.Join(names, ", ")
}
