package memcached

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/desired/memcached/hold"
	"github.com/example/memcached-operator/operator/desired/memcached/pod"
	"github.com/example/memcached-operator/operator/scope"
)

// runner is one of the two kinds that can run the nodes.
type runner struct {
	kind    schema.GroupVersionKind
	running *scope.Workload
	make    func(scope.MemcachedInputs, hold.Running) (scope.Configuration, error)
}

// runners returns the kind that the spec asks for, and the other one.
func runners(in scope.MemcachedInputs) (wanted, other runner) {
	wanted = runner{kind: deploymentKind, running: given(in), make: deployment}
	other = runner{kind: statefulSetKind, running: in.StatefulSet, make: statefulSet}
	if in.Memcached.Spec.Workload == v1alpha1.WorkloadStatefulSet {
		return other, wanted
	}
	return wanted, other
}

// planNodes returns what runs the nodes. When the user changes the kind, the old one runs on until the new one is ready.
func planNodes(in scope.MemcachedInputs) (Plan, error) {
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
func decide(in scope.MemcachedInputs, running *scope.Workload) (hold.Answer, error) {
	if err := checkCombination(in.Memcached.Spec); err != nil {
		return hold.Answer{}, err
	}
	if err := checkSecrets(in); err != nil {
		return hold.Answer{}, err
	}
	return hold.Decide(question(in, in.Memcached.Spec, running))
}

// goOn leaves the nodes as they are. What has waited before waits on.
func goOn(in scope.MemcachedInputs, running *scope.Workload) hold.Answer {
	spec := running.Spec
	spec.Updates = in.Memcached.Spec.Updates
	answer, err := hold.Decide(question(in, spec, running))
	if err != nil {
		answer.Pending = nil // Nobody can tell what would wait.
	}
	answer.Running = hold.Running{Template: running.Template, Spec: running.Spec}
	return answer
}

func question(in scope.MemcachedInputs, spec v1alpha1.MemcachedSpec, running *scope.Workload) hold.Question {
	question := hold.Question{
		Spec:     spec,
		Features: in.Features,
		Version:  in.Images.VersionOf,
		Render:   func(spec v1alpha1.MemcachedSpec) (*hold.Template, error) { return render(in, spec) },
	}
	if running != nil {
		question.Running = &hold.Running{Template: running.Template, Spec: running.Spec}
	}
	return question
}

// render returns the pod template for a spec of the cache.
func render(in scope.MemcachedInputs, spec v1alpha1.MemcachedSpec) (*hold.Template, error) {
	return pod.Template(pod.Request{
		Spec: spec, Identity: Identity(in.Memcached), Images: in.Images,
		Host: Host(in.Memcached.Namespace, in.Memcached.Name),
	})
}
