package olmcondition

import (
	"cmp"
	"fmt"
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

	// ReasonNotAssessed: the operator has just started, and does not know yet whether a rollout is in progress.
	ReasonNotAssessed = "NotAssessed"
)

// maxNamed is the maximum number of objects that a message names.
const maxNamed = 3

// Object identifies a custom resource, for example the Memcached default/example-memcached.
type Object struct {
	Kind string
	types.NamespacedName
}

// String returns for example "Memcached default/example-memcached".
func (o Object) String() string { return o.Kind + " " + o.NamespacedName.String() }

// compare sorts objects as their strings.
func (o Object) compare(other Object) int {
	return cmp.Or(cmp.Compare(o.Kind, other.Kind), cmp.Compare(o.Namespace, other.Namespace), cmp.Compare(o.Name, other.Name))
}

// Findings are what an upgrade should wait for, in alphabetical order.
type Findings struct {
	// Listed is true once the leader knows which objects exist.
	Listed bool

	// Rollouts are the objects whose pods the operator itself replaces.
	Rollouts []Object

	// NotAssessed are the objects that the leader has not reconciled conclusively since it started.
	NotAssessed []Object
}

// Assess returns status, reason and message of the condition Upgradeable. It is False while the operator itself replaces pods, and
// until it knows of every object whether it does; the message then names the objects to wait for.
func Assess(findings Findings) (status metav1.ConditionStatus, reason, message string) {
	const override = "; to upgrade now, set Upgradeable to True in spec.overrides"
	switch {
	case len(findings.Rollouts) > 0:
		return metav1.ConditionFalse, ReasonRolloutInProgress, "Pods are being replaced because the operator changed their template: wait for " +
			named(findings.Rollouts) + ". The rollout ends by itself" + override
	case !findings.Listed:
		return metav1.ConditionFalse, ReasonNotAssessed, "The operator has started and does not know yet whether pods are being replaced. " +
			"This ends by itself" + override
	case len(findings.NotAssessed) > 0:
		return metav1.ConditionFalse, ReasonNotAssessed, "The operator has started and does not know yet whether pods are being replaced: wait for " +
			named(findings.NotAssessed) + ". This ends by itself, after five minutes at the latest if they cannot be read" + override
	}
	return metav1.ConditionTrue, ReasonNothingInProgress, "No rollout is in progress"
}

// named names the first maxNamed objects.
func named(objects []Object) string {
	var names []string
	for _, object := range objects[:min(len(objects), maxNamed)] {
		names = append(names, object.String())
	}
	text := strings.Join(names, ", ")
	if more := len(objects) - maxNamed; more > 0 {
		text = fmt.Sprintf("%s and %d more", text, more)
	}
	return text
}
