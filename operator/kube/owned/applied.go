package owned

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Applied tells whether the operator has applied the object for a kind of owner, which is told by the name in its label
// app.kubernetes.io/name. Objects from the operator's caches have no managedFields, so the answer for them is false.
func Applied(object metav1.Object, name string) bool {
	return object.GetLabels()[LabelName] == name && slices.ContainsFunc(object.GetManagedFields(), IsApply)
}

// IsApply tells whether an entry of managedFields is from an apply of the operator.
func IsApply(entry metav1.ManagedFieldsEntry) bool {
	return entry.Manager == Manager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == ""
}
