package desired

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/owned"
	kubeworkload "github.com/example/memcached-operator/operator/kube/workload"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/update/pending"
)

// workload is one of the two kinds that can run the pods.
type workload struct {
	kind  schema.GroupVersionKind
	given *inputs.Workload
	make  func(inputs.Inputs, pending.Given) (owned.Configuration, error)
}

// workloads returns the workload that the spec asks for, and the other one.
func workloads(in inputs.Inputs) (wanted, other workload) {
	wanted = workload{kind: deploymentKind, given: given(in), make: deployment}
	other = workload{kind: statefulSetKind, given: in.StatefulSet, make: statefulSet}
	if inputs.StablePods(in.Memcached.Spec) {
		return other, wanted
	}
	return wanted, other
}

// planWorkload plans what runs the pods. When the user changes the kind, the old one stays until the new one is ready.
func planWorkload(in inputs.Inputs) (Plan, error) {
	var plan Plan
	wanted, other := workloads(in)
	if err := kubeworkload.CheckSize("spec.size", in.Memcached.Spec.Size); err != nil {
		plan.Kept = []owned.Reference{named(in, wanted.kind), named(in, other.kind)}
		if wanted.given != nil {
			plan.Pending = keep(in, wanted.given).Pending
		}
		return plan, err
	}
	decision, err := decide(in, wanted.given)
	if err != nil && wanted.given != nil {
		decision = keep(in, wanted.given)
	}
	plan.Pending = decision.Pending
	if decision.Given.Template != nil {
		configuration, makeErr := wanted.make(in, decision.Given)
		if makeErr != nil {
			return plan, makeErr
		}
		plan.Present = append(plan.Present, configuration)
	}
	switch {
	case other.given == nil || err == nil && wanted.given != nil && wanted.given.Complete:
		plan.Absent = append(plan.Absent, named(in, other.kind))
	default:
		plan.Kept = append(plan.Kept, named(in, other.kind))
	}
	return plan, err
}

// decide chooses the template of the pods.
func decide(in inputs.Inputs, given *inputs.Workload) (pending.Decision, error) {
	if err := checkCombination(in.Memcached.Spec); err != nil {
		return pending.Decision{}, err
	}
	if err := checkSecrets(in); err != nil {
		return pending.Decision{}, err
	}
	return pending.Decide(input(in, in.Memcached.Spec, given))
}

// keep leaves the pods as they are. A change that was pending stays pending.
func keep(in inputs.Inputs, given *inputs.Workload) pending.Decision {
	spec := given.Spec
	spec.Updates = in.Memcached.Spec.Updates
	decision, err := pending.Decide(input(in, spec, given))
	if err != nil {
		decision.Pending = nil // What would wait cannot be told.
	}
	decision.Given = pending.Given{Template: given.Template, Spec: given.Spec}
	return decision
}

func input(in inputs.Inputs, spec v1alpha1.MemcachedSpec, given *inputs.Workload) pending.Input {
	input := pending.Input{
		Spec:     spec,
		Features: in.Features,
		Version:  in.Images.VersionOf,
		Render:   func(spec v1alpha1.MemcachedSpec) (*pending.Template, error) { return render(in, spec) },
	}
	if given != nil {
		input.Given = &pending.Given{Template: given.Template, Spec: given.Spec}
	}
	return input
}

// render returns the pod template for a spec of the cache.
func render(in inputs.Inputs, spec v1alpha1.MemcachedSpec) (*pending.Template, error) {
	return pod.Template(pod.Request{
		Spec: spec, Identity: Identity(in.Memcached), Images: in.Images,
		Host: Host(in.Memcached.Namespace, in.Memcached.Name),
	})
}
