package owned

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Applied tells whether the API server remembers an apply of the operator's. Objects from its caches remember nothing.
func Applied(object metav1.Object) bool {
	for _, entry := range object.GetManagedFields() {
		if IsApply(entry) {
			return true
		}
	}
	return false
}

// IsApply tells whether an entry remembers the operator's applies.
func IsApply(entry metav1.ManagedFieldsEntry) bool {
	return entry.Manager == Manager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == ""
}
