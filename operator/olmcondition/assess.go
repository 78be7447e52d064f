package olmcondition

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The reasons of the condition Upgradeable, which are those of the events about it as well.
const (
	// ReasonNothingInProgress: an upgrade would interrupt nothing.
	ReasonNothingInProgress = "NothingInProgress"

	// ReasonRolloutInProgress: pods are being replaced because the operator has changed how they are run. A next version
	// may change that again, and would replace them a second time before the first has ended.
	ReasonRolloutInProgress = "RolloutInProgress"
)

// explanations say in words what each reason for not being upgraded means. Where several apply, the condition carries
// the first.
var explanations = []struct{ reason, words string }{
	{ReasonRolloutInProgress, "Pods are being replaced because the operator runs them in another way than before"},
}

// maxNamed bounds how many objects a message names.
const maxNamed = 3

// Object names an object that users know, for example the Memcached default/example-memcached.
type Object struct {
	Kind      string
	Namespace string
	Name      string
}

// ObjectOf returns the object of a kind that a request names.
func ObjectOf(kind string, name types.NamespacedName) Object {
	return Object{Kind: kind, Namespace: name.Namespace, Name: name.Name}
}

// String returns for example "Memcached default/example-memcached".
func (o Object) String() string { return fmt.Sprintf("%s %s/%s", o.Kind, o.Namespace, o.Name) }

// Work is something under way that an upgrade of the operator should not cut into.
type Work struct {
	// Object is whom it is done for, and what to wait for.
	Object Object

	// Reason is one of the reasons above.
	Reason string
}

// Facts is everything that Assess decides by.
type Facts struct {
	// Work is all that is under way, in any order.
	Work []Work
}

// Assess returns status, reason and message of the condition Upgradeable: False while anything is under way. The message
// names what to wait for.
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
		sentences = append(sentences, explanation.words+": wait for "+named(waitFor))
	}
	if len(sentences) == 0 {
		return metav1.ConditionTrue, ReasonNothingInProgress, "Nothing is under way that an upgrade would interrupt"
	}
	return metav1.ConditionFalse, reason, strings.Join(sentences, ". ") +
		". This ends by itself; to upgrade at once, set Upgradeable to True in spec.overrides"
}

// named lists objects in alphabetical order, the first few by name.
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
