package testenv

import (
	"context"
	"errors"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
)

// ForbidPods makes the API server refuse new pods until allow is called. refusal is the end of what it answers.
func (e *Env) ForbidPods() (refusal string, allow func()) {
	e.Helper()
	pod := Named[corev1.Pod](e, "refused")
	pod.Spec.Containers = []corev1.Container{{Name: "refused", Image: "refused"}}
	return e.forbid(admissionv1.Create, "pods", func(ctx context.Context) error { return cluster.Client.Create(ctx, pod, client.DryRunAll) })
}

// ForbidDeletion makes the API server refuse to delete an object, and all others of its resource, until allow is called.
// The garbage collector and the deletion of the namespace wait for that.
func (e *Env) ForbidDeletion(resource string, object client.Object) (allow func()) {
	e.Helper()
	_, allow = e.forbid(admissionv1.Delete, resource, func(ctx context.Context) error { return cluster.Client.Delete(ctx, object, client.DryRunAll) })
	return allow
}

// forbid returns when the policy works, which try tells: the API server looks for new policies once in a second.
func (e *Env) forbid(
	operation admissionv1.OperationType, resource string, try func(context.Context) error,
) (refusal string, allow func()) {
	e.Helper()
	name := e.Namespace + "-" + resource
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	policy.Spec.Validations = []admissionv1.Validation{{Expression: "false", Message: "not now"}}
	policy.Spec.MatchConstraints = &admissionv1.MatchResources{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: e.Namespace}},
		ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{operation},
			Rule:       admissionv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{resource}},
		}}},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: policy.ObjectMeta}
	binding.Spec.PolicyName, binding.Spec.ValidationActions = name, []admissionv1.ValidationAction{admissionv1.Deny}
	e.Create(policy)
	e.Create(binding)
	refusal = fmt.Sprintf("ValidatingAdmissionPolicy '%[1]s' with binding '%[1]s' denied request: not now", name)
	e.Await("the policy "+name+" works", func(ctx context.Context) error {
		if err := try(ctx); err == nil || !strings.Contains(err.Error(), refusal) {
			return errors.Join(errors.New("it does not refuse"), err)
		}
		return nil
	})
	return refusal, func() {
		e.Helper()
		e.Delete(binding)
		e.Delete(policy)
	}
}
