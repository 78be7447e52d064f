package desired

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/update/pending"
)

// runner is one of the two kinds that can run the nodes.
type runner struct {
	kind    schema.GroupVersionKind
	running *inputs.Workload
	make    func(inputs.Inputs, pending.Given) (owned.Configuration, error)
}

// runners returns the kind that the spec asks for, and the other one.
func runners(in inputs.Inputs) (wanted, other runner) {
	wanted = runner{kind: deploymentKind, running: given(in), make: deployment}
	other = runner{kind: statefulSetKind, running: in.StatefulSet, make: statefulSet}
	if in.Memcached.Spec.Workload == v1alpha1.WorkloadStatefulSet {
		return other, wanted
	}
	return wanted, other
}

// planNodes returns what runs the nodes. When the user changes the kind, the old one runs on until the new one is ready.
func planNodes(in inputs.Inputs) (Plan, error) {
	var plan Plan
	wanted, other := runners(in)
	answer, err := decide(in, wanted.running)
	if err != nil && wanted.running != nil {
		answer = goOn(in, wanted.running)
	}
	plan.Pending = answer.Pending
	if answer.Running.Template != nil {
		configuration, makeErr := wanted.make(in, answer.Running)
		if makeErr != nil {
			return plan, makeErr
		}
		plan.Present = append(plan.Present, configuration)
	}
	switch {
	case other.running == nil || err == nil && wanted.running != nil && wanted.running.Settled:
		plan.Absent = append(plan.Absent, named(in, other.kind))
	default:
		plan.Kept = append(plan.Kept, named(in, other.kind))
	}
	return plan, err
}

// decide chooses the template of the nodes.
func decide(in inputs.Inputs, running *inputs.Workload) (pending.Answer, error) {
	if err := checkCombination(in.Memcached.Spec); err != nil {
		return pending.Answer{}, err
	}
	if err := checkSecrets(in); err != nil {
		return pending.Answer{}, err
	}
	return pending.Decide(question(in, in.Memcached.Spec, running))
}

// goOn leaves the nodes as they are. What has waited before waits on.
func goOn(in inputs.Inputs, running *inputs.Workload) pending.Answer {
	spec := running.Spec
	spec.Updates = in.Memcached.Spec.Updates
	answer, err := pending.Decide(question(in, spec, running))
	if err != nil {
		answer.Pending = nil // Nobody can tell what would wait.
	}
	answer.Running = pending.Given{Template: running.Template, Spec: running.Spec}
	return answer
}

func question(in inputs.Inputs, spec v1alpha1.MemcachedSpec, running *inputs.Workload) pending.Question {
	question := pending.Question{
		Spec:     spec,
		Features: in.Features,
		Version:  in.Images.VersionOf,
		Render:   func(spec v1alpha1.MemcachedSpec) (*pending.Template, error) { return render(in, spec) },
	}
	if running != nil {
		question.Running = &pending.Given{Template: running.Template, Spec: running.Spec}
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
