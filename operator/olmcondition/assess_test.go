package olmcondition

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func rolling(kind, namespace, name string) Object {
	return Object{Kind: kind, NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

func TestAssess(t *testing.T) {
	const replacing = "Pods are being replaced because the operator changed their template: wait for "
	const unknown = "The operator has started and does not know yet whether pods are being replaced"
	const override = "; to upgrade now, set Upgradeable to True in spec.overrides"
	one, two := rolling("Memcached", "default", "cache"), rolling("Memcached", "z", "x")
	for name, test := range map[string]struct {
		findings Findings
		status   metav1.ConditionStatus
		reason   string
		message  string
	}{
		"nothing is in progress": {Findings{Listed: true}, metav1.ConditionTrue, "NothingInProgress", "No rollout is in progress"},
		"one rollout": {
			Findings{Listed: true, Rollouts: []Object{one}}, metav1.ConditionFalse, "RolloutInProgress",
			replacing + "Memcached default/cache. The rollout ends by itself" + override,
		},
		"only three of many are named": {
			Findings{Listed: true, Rollouts: []Object{one, two, one, one, one}}, metav1.ConditionFalse, "RolloutInProgress",
			replacing + "Memcached default/cache, Memcached z/x, Memcached default/cache and 2 more. The rollout ends by itself" + override,
		},
		"the objects are not known yet": {Findings{}, metav1.ConditionFalse, "NotAssessed", unknown + ". This ends by itself" + override},
		"some objects were not looked at": {
			Findings{Listed: true, NotAssessed: []Object{one, two}}, metav1.ConditionFalse, "NotAssessed",
			unknown + ": wait for Memcached default/cache, Memcached z/x. This ends by itself, after five minutes at the latest if they cannot be read" + override,
		},
		"a rollout is known already": {
			Findings{Rollouts: []Object{one}, NotAssessed: []Object{two}}, metav1.ConditionFalse, "RolloutInProgress",
			replacing + "Memcached default/cache. The rollout ends by itself" + override,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if status, reason, message := Assess(test.findings); status != test.status || reason != test.reason || message != test.message {
				t.Errorf("got %s %s %q, want %s %s %q", status, reason, message, test.status, test.reason, test.message)
			}
		})
	}
}
