package inputs

import (
	"encoding/json"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
)

// Recorded reads the annotations of a workload. It returns nil when there are none, or when they cannot be read.
func Recorded(annotations map[string]string) *Workload {
	workload := &Workload{Template: &corev1ac.PodTemplateSpecApplyConfiguration{}}
	if json.Unmarshal([]byte(annotations[TemplateAnnotation]), workload.Template) != nil || workload.Template.Spec == nil ||
		json.Unmarshal([]byte(annotations[SpecAnnotation]), &workload.Spec) != nil {
		return nil
	}
	return workload
}
