package walk

import (
	"testing"
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
)

// The message is one of OLM 0.46, shortened at its end.
func TestALookForUpgradesIsOutdatedOnceAVersionIsGone(t *testing.T) {
	const message = "constraints not satisfiable: @existing/memcached-operator-system//memcached-operator.v0.1.0, " +
		"@existing/memcached-operator-system//memcached-operator.v0.3.0 and memcached-operator/memcached-operator-system/candidate/memcached-operator.v0.3.1 " +
		"originate from package memcached-operator"
	for name, c := range map[string]struct {
		message   string
		status    corev1.ConditionStatus
		installed []string
		want      bool
	}{
		"both are there":               {message, corev1.ConditionTrue, []string{"memcached-operator.v0.1.0", "memcached-operator.v0.3.0"}, false},
		"the old one is gone":          {message, corev1.ConditionTrue, []string{"memcached-operator.v0.3.0"}, true},
		"it was looked at since":       {message, corev1.ConditionFalse, []string{"memcached-operator.v0.3.0"}, false},
		"it failed for another reason": {"no operators found in channel beta", corev1.ConditionTrue, []string{"memcached-operator.v0.3.0"}, false},
	} {
		status := operatorsv1alpha1.SubscriptionStatus{Conditions: []operatorsv1alpha1.SubscriptionCondition{
			{Type: operatorsv1alpha1.SubscriptionResolutionFailed, Status: c.status, Message: c.message},
		}}
		if got := outdated(status, c.installed); got != c.want {
			t.Errorf("%s: outdated is %v", name, got)
		}
	}
	if outdated(operatorsv1alpha1.SubscriptionStatus{}, nil) {
		t.Error("a Subscription that says nothing is outdated")
	}
}

func TestASubscriptionIsNotTouchedAgainAtOnce(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 30, 0, time.UTC)
	for last, want := range map[string]bool{"": true, "never": true, "2026-11-22T12:00:16Z": false, "2026-11-22T12:00:15Z": true} {
		if got := due(last, now); got != want {
			t.Errorf("touched at %q, another touch is due: %t, want %t", last, got, want)
		}
	}
}
