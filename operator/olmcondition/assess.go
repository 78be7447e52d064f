package olmcondition

import (
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

// maxNamed is the maximum number of objects that a message names.
const maxNamed = 3

// Object identifies a custom resource, for example the Memcached default/example-memcached.
type Object struct {
	Kind string
	types.NamespacedName
}

// String returns for example "Memcached default/example-memcached".
func (o Object) String() string { return o.Kind + " " + o.NamespacedName.String() }

// Assess returns status, reason and message of the condition Upgradeable. It is False while the pods of objects are being
// replaced; the message then names the objects to wait for.
func Assess(rollouts []Object) (status metav1.ConditionStatus, reason, message string) {
	if len(rollouts) == 0 {
		return metav1.ConditionTrue, ReasonNothingInProgress, "No rollout is in progress"
	}
	return metav1.ConditionFalse, ReasonRolloutInProgress, "Pods are being replaced because the operator changed their template: wait for " +
		named(rollouts) + ". The rollout ends by itself; to upgrade now, set Upgradeable to True in spec.overrides"
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
