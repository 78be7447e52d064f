package olmcondition

import (
	"testing"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// An upgrade must not slip in between the start of a version and its first look at the caches.
func TestANewLeaderSaysFalseBeforeItHasLooked(t *testing.T) {
	for name, before := range map[string][]metav1.Condition{
		"a new version": nil, "a version that was upgradeable": {condition(operatorsv2.Upgradeable, metav1.ConditionTrue)},
	} {
		t.Run(name, func(t *testing.T) {
			s := installedByOLM(t, before...)
			one, two := rolling("Memcached", "default", "one"), rolling("Application", "default", "two")
			s.exist(one, two)
			s.start(fast)
			if first := s.await(metav1.ConditionFalse, "Application default/two, Memcached default/one"); first.Reason != ReasonNotAssessed {
				t.Errorf("the condition is %+v", first)
			}
			s.awaitGauge(false)
			s.work.Assessed(one, false, never)
			s.await(metav1.ConditionFalse, "wait for Application default/two.")
			s.exist(one) // The other one was deleted before anything could reconcile it.
			s.await(metav1.ConditionTrue)
		})
	}
}

// Without objects there is nothing to look at.
func TestAFreshInstallIsUpgradeableAtOnce(t *testing.T) {
	s := installedByOLM(t)
	s.start(fast)
	s.await(metav1.ConditionTrue)
	if writes := s.operator.Traffic.Writes(); len(writes) != 1 {
		t.Errorf("%d writes: %v", len(writes), writes)
	}
}
