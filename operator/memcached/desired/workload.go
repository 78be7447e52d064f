package desired

import (
	"cmp"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/pod-security-admission/api"
	"k8s.io/utils/ptr"

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
	make  func(inputs.Inputs, inputs.Record) owned.Configuration
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

// given returns what a Deployment was given. Versions before 0.3.0 kept no record, and knew no field of the spec that pods
// are made from. If the template is not one of theirs, somebody removed the record, and the template was made for the
// present spec.
func given(in inputs.Inputs) *inputs.Workload {
	if in.Deployment == nil || !in.Deployment.Unrecorded {
		return in.Deployment
	}
	workload := *in.Deployment
	plain, err := render(in, nil, v1alpha1.MemcachedSpec{})
	if err != nil || !pending.SameButImage(workload.Template, plain) {
		workload.Spec = in.Memcached.Spec
	}
	return &workload
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
	plan.Pending, plan.Pull = decision.Pending, decision.Pull
	if decision.Given.Template != nil {
		if recordErr := plan.addWorkload(in, wanted, decision); recordErr != nil {
			return plan, recordErr
		}
	}
	if other.given != nil && (err != nil || wanted.given == nil || !wanted.given.Complete) {
		plan.Kept = append(plan.Kept, named(in, other.kind))
		return plan, err
	}
	plan.Absent = append(plan.Absent, named(in, other.kind)) // Before its records, which say what its pods were given.
	for _, record := range in.Records {
		if record.Workload == other.kind.Kind {
			plan.removeRecord(in, record)
		}
	}
	return plan, err
}

// addWorkload adds a workload with the template of a decision, and its records before it.
func (p *Plan) addWorkload(in inputs.Inputs, wanted workload, decision pending.Decision) error {
	records, err := planRecords(in, wanted.kind.Kind, wanted.given, decision)
	if err != nil {
		p.Kept = append(p.Kept, named(in, wanted.kind))
		return err
	}
	reference := named(in, wanted.kind)
	for _, toWrite := range records.write {
		configuration := record(in, toWrite)
		p.Present = append(p.Present, configuration)
		p.Needs = append(p.Needs, owned.Need{Object: reference, Needs: owned.ReferenceTo(configuration)})
		p.noteVersion(in, toWrite)
	}
	for _, old := range records.remove {
		p.removeRecord(in, old)
	}
	p.Records = records.all
	p.Present = append(p.Present, wanted.make(in, records.all[0]))
	p.Recorded = append(p.Recorded, owned.Recorded{
		Object: reference, Record: records.all[0].Name, Named: wanted.given.NamedRecord(), SpecApplied: in.Memcached.Status.ObservedGeneration == in.Memcached.Generation,
		Changed: wanted.given != nil && (wanted.given.Record == nil && !records.all[0].TakenOver ||
			wanted.given.Record != nil && wanted.given.Record.Name != records.all[0].Name),
		Release:   ptr.Deref(in.Memcached.Spec.Updates, v1alpha1.MemcachedUpdates{}).Release,
		Automatic: ptr.Deref(in.Memcached.Spec.Updates, v1alpha1.MemcachedUpdates{}).Policy == v1alpha1.UpdateAutomatic,
	})
	return nil
}

// removeRecord adds a record that must not exist.
func (p *Plan) removeRecord(in inputs.Inputs, record inputs.Record) {
	p.Absent = append(p.Absent, recordReference(in, record))
	p.noteVersion(in, record)
}

// noteVersion adds the resourceVersion of a record that the plan is made from.
func (p *Plan) noteVersion(in inputs.Inputs, record inputs.Record) {
	if p.ResourceVersions == nil {
		p.ResourceVersions = map[owned.Reference]string{}
	}
	version := "" // It does not exist yet.
	if read := inputs.RecordNamed(in.Records, record.Name); read != nil {
		version = read.ResourceVersion
	}
	p.ResourceVersions[recordReference(in, record)] = version
}

func recordReference(in inputs.Inputs, record inputs.Record) owned.Reference {
	return owned.Reference{GroupVersionKind: recordKind, Namespace: in.Memcached.Namespace, Name: record.Name}
}

// decide chooses the template of the pods. If the spec or a Secret is wrong, that is the given one.
func decide(in inputs.Inputs, given *inputs.Workload) (decision pending.Decision, err error) {
	err = cmp.Or(checkCombination(in.Memcached.Spec), checkAnnotations(in), checkSecrets(in))
	if err == nil {
		decision, err = pending.Decide(input(in, in.Memcached.Spec, given))
	}
	if err == nil {
		err = checkUsersOf(in, given, decision)
	}
	switch {
	case err != nil && given != nil:
		return keep(in, given), err
	case err != nil:
		return pending.Decision{}, err
	}
	return decision, nil
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
		Render:   func(spec v1alpha1.MemcachedSpec) (*pending.Template, error) { return render(in, given, spec) },
	}
	if given != nil {
		input.Given = &pending.Given{Template: given.Template, Spec: given.Spec}
	}
	if inputs.StablePods(in.Memcached.Spec) {
		input.Missing = func(images map[string]string) []pending.Missing { return missingImages(in, images) }
	}
	return input
}

// render returns the pod template for a spec of the cache. Pods that were given a template may keep some of it.
func render(in inputs.Inputs, given *inputs.Workload, spec v1alpha1.MemcachedSpec) (*pending.Template, error) {
	request := pod.Request{
		Spec: spec, Identity: Identity(in.Memcached), Images: in.Images,
		Host: Host(in.Memcached.Namespace, in.Memcached.Name),
	}
	if given != nil {
		request.Given = given.Template
	}
	template, err := pod.Template(request)
	if err != nil {
		return nil, err
	}
	return template, kubeworkload.CheckPodSecurity(api.LevelRestricted, template, "change spec.podAnnotations")
}
