package apply_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
)

// Before a repair, the rival fields are removed. A policy that refuses any change refuses that as well, and its answer is that of an invalid
// object.
func TestARepairThatAPolicyRefusesIsReported(t *testing.T) {
	owner, plan := newApplication(t)
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: owner.Namespace, Name: owner.Name}}
	edit := `{"spec":{"$setElementOrder/ports":[{"port":9090}],
		"ports":[{"port":9090,"name":"http","protocol":"TCP","targetPort":"http"},{"port":8080,"$patch":"delete"}]}}`
	if err := cluster.Client.Patch(t.Context(), service, client.RawPatch("application/strategic-merge-patch+json", []byte(edit))); err != nil {
		t.Fatal(err)
	}
	refuse(t, service, metav1.StatusReasonInvalid)
	_, err := live().Apply(t.Context(), owner, plan)
	wantRefused(t, err, "Service "+owner.Name)
}

// Policies choose the reason of their answer.
func TestADeletionThatAPolicyRefusesIsReported(t *testing.T) {
	for _, reason := range []metav1.StatusReason{
		metav1.StatusReasonForbidden, metav1.StatusReasonInvalid, metav1.StatusReasonRequestEntityTooLarge,
	} {
		t.Run(string(reason), func(t *testing.T) { refuseDeletion(t, reason) })
	}
}

func refuseDeletion(t *testing.T, reason metav1.StatusReason) {
	owner, plan := newApplication(t)
	refuse(t, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: owner.Namespace, Name: owner.Name}}, reason)
	reference := owned.Reference{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Service"), Namespace: owner.Namespace, Name: owner.Name}
	plan.Present = slices.DeleteFunc(plan.Present, func(c owned.Configuration) bool { return owned.ReferenceTo(c) == reference })
	plan.Absent = append(plan.Absent, reference)
	_, err := live().Apply(t.Context(), owner, plan)
	wantRefused(t, err, "delete Service "+owner.Name)
}

func wantRefused(t *testing.T, err error, object string) {
	t.Helper()
	if class, reason := reconcileerror.Describe(err); class != reconcileerror.Delayed || reason != v1alpha1.ReasonRejected {
		t.Errorf("the error is %s %s: %v", class, reason, err)
	}
	if err == nil || !strings.Contains(err.Error(), object) || !strings.Contains(err.Error(), "nobody changes Services") {
		t.Errorf("the policy is not quoted: %v", err)
	}
}

// refuse creates a policy that refuses changes of Services in the namespace of one, for a reason, and waits until it applies.
func refuse(t *testing.T, service *corev1.Service, reason metav1.StatusReason) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: service.Namespace + ".example.com"}
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: meta, Spec: admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Update, admissionv1.Delete},
			Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"services"}},
		}}}},
		Validations: []admissionv1.Validation{{Expression: "false", Message: "nobody changes Services", Reason: &reason}},
	}}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: meta, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: meta.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		MatchResources: &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: service.Namespace}}},
	}}
	for _, object := range []client.Object{policy, binding} {
		if err := cluster.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := cluster.Client.Delete(context.Background(), object); err != nil {
				t.Error(err)
			}
		})
	}
	label := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"example.com/probe":"yes"}}}`))
	testkit.Await(t, "the policy to refuse changes", func(ctx context.Context) error {
		if err := cluster.Client.Patch(ctx, service.DeepCopy(), label, client.DryRunAll); apierrors.ReasonForError(err) != reason {
			return fmt.Errorf("a change: %w", err)
		}
		return nil
	})
}
