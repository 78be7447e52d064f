package desired

import (
	"encoding/json"
	"fmt"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/update/pending"
)

// record returns the annotations that record what a workload is given.
func record(running pending.Given) (map[string]string, error) {
	template, err := json.Marshal(running.Template)
	if err != nil {
		return nil, fmt.Errorf("encode the pod template: %w", err)
	}
	spec, err := json.Marshal(pending.ForPods(running.Spec))
	if err != nil {
		return nil, fmt.Errorf("encode the spec: %w", err)
	}
	return map[string]string{inputs.TemplateAnnotation: string(template), inputs.SpecAnnotation: string(spec)}, nil
}

// given returns what a Deployment was given. Versions before 0.3.0 kept no record, and knew no field of the spec that pods
// are made from. If the template is not one of theirs, somebody removed the record, and the template was made for the
// present spec.
func given(in inputs.Inputs) *inputs.Workload {
	if in.Deployment == nil || !in.Deployment.Unrecorded {
		return in.Deployment
	}
	workload := *in.Deployment
	plain, err := render(in, v1alpha1.MemcachedSpec{})
	if err != nil || !pending.SameButImage(workload.Template, plain) {
		workload.Spec = in.Memcached.Spec
	}
	return &workload
}
