package workload

import (
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
)

// evaluator judges pods as the API server does in namespaces that enforce a level.
var evaluator = sync.OnceValues(func() (policy.Evaluator, error) { return policy.NewEvaluator(policy.DefaultChecks(), nil) })

// CheckPodSecurity returns a Terminal error if pods of a template would violate a level of the pod security standards. The operator may
// create pods that the author of the owner may not create, so what it creates must not depend on the namespace alone. mend says what
// the user can do.
func CheckPodSecurity(level api.Level, template *corev1ac.PodTemplateSpecApplyConfiguration, mend string) error {
	evaluator, err := evaluator()
	if err != nil {
		return fmt.Errorf("judge the security of pods: %w", err)
	}
	pod := owned.Convert[corev1.PodTemplateSpec](template)
	results := evaluator.EvaluatePod(api.LevelVersion{Level: level, Version: api.LatestVersion()}, &pod.ObjectMeta, &pod.Spec)
	if result := policy.AggregateCheckResults(results); !result.Allowed {
		return reconcileerror.Terminal(v1alpha1.ReasonPodSecurityViolation, fmt.Errorf(
			"the pods would violate the pod security standard %q: %s; %s. Running pods stay as they are", level, result.ForbiddenDetail(), mend))
	}
	return nil
}
