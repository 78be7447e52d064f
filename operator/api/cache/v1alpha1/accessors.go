package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// GetConditions returns the conditions of the status.
func (m *Memcached) GetConditions() []metav1.Condition { return m.Status.Conditions }
