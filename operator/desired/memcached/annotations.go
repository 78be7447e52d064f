package memcached

import (
	"encoding/json"
	"fmt"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/desired/memcached/hold"
	"github.com/example/memcached-operator/operator/scope"
)

// The annotations on a Deployment or StatefulSet that say what the operator last gave it. A later version of the operator
// would make other pods from the same spec: it reads here what it must leave as it is, and what the user has changed since.
const (
	templateAnnotation = "cache.example.com/applied-template"
	specAnnotation     = "cache.example.com/applied-spec"
)

// record returns the annotations for what a workload is to have.
func record(running hold.Running) (map[string]string, error) {
	template, err := json.Marshal(running.Template)
	if err != nil {
		return nil, fmt.Errorf("encode the pod template: %w", err)
	}
	spec, err := json.Marshal(hold.ForPods(running.Spec))
	if err != nil {
		return nil, fmt.Errorf("encode the spec: %w", err)
	}
	return map[string]string{templateAnnotation: string(template), specAnnotation: string(spec)}, nil
}

// Recorded reads the annotations of a workload. It returns nil when there are none, or none that can be read: what runs has
// to be found out in another way then.
func Recorded(annotations map[string]string) *scope.Workload {
	workload := &scope.Workload{Template: &hold.Template{}}
	if json.Unmarshal([]byte(annotations[templateAnnotation]), workload.Template) != nil || workload.Template.Spec == nil ||
		json.Unmarshal([]byte(annotations[specAnnotation]), &workload.Spec) != nil {
		return nil
	}
	return workload
}

// Unrecorded returns what a workload was given that has no record. Versions before 0.3.0 kept none, and knew no field that
// pods are made from. If the template is not theirs, somebody took the record away, and it was made for the spec that there
// is.
func Unrecorded(in scope.MemcachedInputs, template *hold.Template) *scope.Workload {
	workload := &scope.Workload{Template: template}
	plain, err := render(in, v1alpha1.MemcachedSpec{})
	if err != nil || !hold.SameButImage(template, plain) {
		workload.Spec = in.Memcached.Spec
	}
	return workload
}
