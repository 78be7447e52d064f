package testenv

import (
	"context"
	"errors"
	"maps"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
)

// MutateTemplates makes the API server change the pod templates of Deployments and StatefulSets whenever they are written. mutation is
// a CEL expression for a list of JSONPatch, and condition says for which objects it is made. It returns when the policy works.
func (e *Env) MutateTemplates(name, condition, mutation string) {
	e.Helper()
	rule := admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
		Rule:       admissionv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments", "statefulsets"}},
	}
	e.mutate(name, condition, mutation, rule, func(ctx context.Context) (bool, error) {
		probe := Named[appsv1.Deployment](e, "probe")
		probe.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "probe"}}
		probe.Spec.Template.Labels = probe.Spec.Selector.MatchLabels
		probe.Spec.Template.Annotations = map[string]string{"team": "probe"}
		probe.Spec.Template.Spec.Containers = []corev1.Container{{Name: "probe", Image: "probe"}}
		written := probe.DeepCopy()
		err := cluster.Client.Create(ctx, written, client.DryRunAll)
		before, after := probe.Spec.Template, written.Spec.Template
		return after.Spec.PriorityClassName != "" || after.Spec.Containers[0].Image != "probe" || !maps.Equal(before.Annotations, after.Annotations), err
	})
}

// MutateCreatedPods makes the API server change pods when they are created, and not when they are changed later.
func (e *Env) MutateCreatedPods(name, condition, mutation string) {
	e.Helper()
	rule := admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Create},
		Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
	}
	e.mutate(name, condition, mutation, rule, func(ctx context.Context) (bool, error) {
		probe := Named[corev1.Pod](e, "probe")
		probe.Spec.Containers = []corev1.Container{{Name: "probe", Image: "probe"}}
		err := cluster.Client.Create(ctx, probe, client.DryRunAll)
		return probe.Spec.Containers[0].Image != "probe", err
	})
}

// MutateUpdatedPods makes the API server change pods when they are changed, and not when they are created. pod is the name of one
// to which that applies. remove removes the policy, and returns when the API server has noticed.
func (e *Env) MutateUpdatedPods(name, pod, condition, mutation string) (remove func()) {
	e.Helper()
	rule := admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Update},
		Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
	}
	changes := func(ctx context.Context) (bool, error) {
		before, err := Get[corev1.Pod](ctx, e, pod)
		if err != nil {
			return false, err
		}
		after := before.DeepCopy()
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"probe":"probe"}}}`))
		err = cluster.Client.Patch(ctx, after, patch, client.DryRunAll)
		return !equality.Semantic.DeepEqual(before.Spec, after.Spec), err
	}
	policy := e.mutate(name, condition, mutation, rule, changes)
	return func() {
		e.Helper()
		e.Delete(policy)
		e.Await("the policy to be gone", func(ctx context.Context) error {
			changed, err := changes(ctx)
			if err == nil && changed {
				err = errors.New("it still works")
			}
			return err
		})
	}
}

// mutate adds a policy, and returns its binding when changes tells that it works.
func (e *Env) mutate(
	name, condition, mutation string, rule admissionv1.RuleWithOperations, changes func(context.Context) (bool, error),
) *admissionv1.MutatingAdmissionPolicyBinding {
	e.Helper()
	name = e.Namespace + "-" + name
	policy := &admissionv1.MutatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	policy.Spec.ReinvocationPolicy = admissionv1.NeverReinvocationPolicy
	policy.Spec.MatchConstraints = &admissionv1.MatchResources{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: e.Namespace}},
		ResourceRules:     []admissionv1.NamedRuleWithOperations{{RuleWithOperations: rule}},
	}
	policy.Spec.MatchConditions = []admissionv1.MatchCondition{{Name: "wanted", Expression: condition}}
	policy.Spec.Mutations = []admissionv1.Mutation{{
		PatchType: admissionv1.PatchTypeJSONPatch, JSONPatch: &admissionv1.JSONPatch{Expression: mutation},
	}}
	binding := &admissionv1.MutatingAdmissionPolicyBinding{ObjectMeta: policy.ObjectMeta}
	binding.Spec.PolicyName = name
	e.Create(policy)
	e.Create(binding)
	e.Cleanup(func() {
		_ = cluster.Client.Delete(context.Background(), binding)
		_ = cluster.Client.Delete(context.Background(), policy)
	})
	e.Await("the policy "+name+" works", func(ctx context.Context) error {
		changed, err := changes(ctx)
		if err == nil && !changed {
			err = errors.New("it changes nothing")
		}
		return err
	})
	return binding
}
