package owned

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Reporting is an owner with conditions in its status.
type Reporting interface {
	metav1.Object
	GetConditions() []metav1.Condition
}

// IsNew tells whether nothing of an owner is expected to be there: no reconcile of it has ended yet, and none can have begun with another
// spec, which may have wanted other objects.
func IsNew(owner Reporting) bool {
	return len(owner.GetConditions()) == 0 && owner.GetGeneration() <= 1
}
