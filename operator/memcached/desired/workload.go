package desired

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/update/pending"
)

// workload is one of the two kinds that can run the nodes.
type workload struct {
	kind    schema.GroupVersionKind
	running *inputs.Workload
	make    func(inputs.Inputs, pending.Given) (owned.Configuration, error)
}

// workloads returns the kind that the spec asks for, and the other one.
func workloads(in inputs.Inputs) (wanted, other workload) {
	wanted = workload{kind: deploymentKind, running: given(in), make: deployment}
	other = workload{kind: statefulSetKind, running: in.StatefulSet, make: statefulSet}
	if in.Memcached.Spec.Workload == v1alpha1.WorkloadStatefulSet {
		return other, wanted
	}
	return wanted, other
}

// planWorkload returns what runs the nodes. When the user changes the kind, the old one runs on until the new one is ready.
func planWorkload(in inputs.Inputs) (Plan, error) {
	var plan Plan
	wanted, other := workloads(in)
	answer, err := decide(in, wanted.running)
	if err != nil && wanted.running != nil {
		answer = keep(in, wanted.running)
	}
	plan.Pending = answer.Pending
	if answer.Given.Template != nil {
		configuration, makeErr := wanted.make(in, answer.Given)
		if makeErr != nil {
			return plan, makeErr
		}
		plan.Present = append(plan.Present, configuration)
	}
	switch {
	case other.running == nil || err == nil && wanted.running != nil && wanted.running.Complete:
		plan.Absent = append(plan.Absent, named(in, other.kind))
	default:
		plan.Kept = append(plan.Kept, named(in, other.kind))
	}
	return plan, err
}

// decide chooses the template of the nodes.
func decide(in inputs.Inputs, running *inputs.Workload) (pending.Decision, error) {
	if err := checkCombination(in.Memcached.Spec); err != nil {
		return pending.Decision{}, err
	}
	if err := checkSecrets(in); err != nil {
		return pending.Decision{}, err
	}
	return pending.Decide(input(in, in.Memcached.Spec, running))
}

// keep leaves the nodes as they are. What has waited before waits on.
func keep(in inputs.Inputs, running *inputs.Workload) pending.Decision {
	spec := running.Spec
	spec.Updates = in.Memcached.Spec.Updates
	answer, err := pending.Decide(input(in, spec, running))
	if err != nil {
		answer.Pending = nil // Nobody can tell what would wait.
	}
	answer.Given = pending.Given{Template: running.Template, Spec: running.Spec}
	return answer
}

func input(in inputs.Inputs, spec v1alpha1.MemcachedSpec, running *inputs.Workload) pending.Input {
	question := pending.Input{
		Spec:     spec,
		Features: in.Features,
		Version:  in.Images.VersionOf,
		Render:   func(spec v1alpha1.MemcachedSpec) (*pending.Template, error) { return render(in, spec) },
	}
	if running != nil {
		question.Given = &pending.Given{Template: running.Template, Spec: running.Spec}
	}
	return question
}

// render returns the pod template for a spec of the cache.
func render(in inputs.Inputs, spec v1alpha1.MemcachedSpec) (*pending.Template, error) {
	return pod.Template(pod.Request{
		Spec: spec, Identity: Identity(in.Memcached), Images: in.Images,
		Host: Host(in.Memcached.Namespace, in.Memcached.Name),
	})
}
