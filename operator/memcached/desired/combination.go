package desired

import (
	"errors"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
)

// checkCombination returns which fields of a spec do not go together. The definition of the kind does not say it: OLM v1
// refuses a new version of it that adds a rule to the spec as a whole.
func checkCombination(spec v1alpha1.MemcachedSpec) error {
	inSlots := spec.Workload == v1alpha1.WorkloadStatefulSet
	for _, check := range []struct {
		wrong   bool
		message string
	}{
		{spec.WarmRestart && !inSlots,
			"spec.warmRestart needs spec.workload StatefulSet, because a Deployment replaces its pods to change them: set the workload, or remove warmRestart"},
		{spec.HitRatioGate != nil && !inSlots,
			"spec.hitRatioGate needs spec.workload StatefulSet, because Kubernetes itself replaces the pods of a Deployment: set the workload, or remove hitRatioGate"},
	} {
		if check.wrong {
			return reconcileerror.Terminal(v1alpha1.ReasonInvalidCombination, errors.New(check.message))
		}
	}
	return nil
}
