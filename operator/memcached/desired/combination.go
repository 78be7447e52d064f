package desired

import (
	"errors"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// checkCombination returns which fields of a spec contradict each other. This is not a rule of the CRD, because OLM v1 refuses
// a new version of a CRD that adds a rule to the spec as a whole.
func checkCombination(spec v1alpha1.MemcachedSpec) error {
	stable := inputs.StablePods(spec)
	for _, check := range []struct {
		wrong   bool
		message string
	}{
		{spec.WarmRestart && !stable,
			"spec.warmRestart needs spec.workload StatefulSet, because a Deployment replaces its pods to change them: set the workload, or remove warmRestart"},
		{spec.HitRatioGate != nil && !stable,
			"spec.hitRatioGate needs spec.workload StatefulSet, because Kubernetes itself replaces the pods of a Deployment: set the workload, or remove hitRatioGate"},
		{len(spec.Resources.Claims) > 0, "spec.resources.claims cannot be used, because memcached needs no device: remove it"},
	} {
		if check.wrong {
			return reconcileerror.Terminal(v1alpha1.ReasonInvalidCombination, errors.New(check.message))
		}
	}
	return nil
}
