package pending

import (
	"cmp"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/update/diff"
)

// Template is a pod template as the operator applies it.
type Template = corev1ac.PodTemplateSpecApplyConfiguration

// Given is what the operator last gave a workload.
type Given struct {
	// Template is the pod template.
	Template *Template

	// Spec is the spec that it was made for.
	Spec v1alpha1.MemcachedSpec
}

// Input is what to decide.
type Input struct {
	// Given is what the workload has; nil if there is no workload yet.
	Given *Given

	// Spec is what the user wants now.
	Spec v1alpha1.MemcachedSpec

	// Render makes the template for a spec.
	Render func(v1alpha1.MemcachedSpec) (*Template, error)

	// Version tells the version of memcached in an image, empty if it is not known. Nil knows none.
	Version func(image string) string

	// Features are what the cluster can do.
	Features inputs.Features
}

// Decision is what was decided.
type Decision struct {
	// Given is what the workload is to have.
	Given Given

	// Pending is what waits to be released, nil if nothing does.
	Pending *v1alpha1.MemcachedPending
}

// Decide answers a question. The error is that of rendering the spec: then there is no answer, and the workload keeps what
// it has.
func Decide(q Input) (Decision, error) {
	wanted, err := q.Render(q.Spec)
	if err != nil {
		return Decision{}, err
	}
	all := Decision{Given: Given{Template: wanted, Spec: q.Spec}}
	if q.Given == nil {
		return all, nil
	}
	switch _, class := q.between(q.Given.Template, wanted); class {
	case diff.None:
		// Equal to Kubernetes, but perhaps not byte by byte, and a Deployment replaces its pods for a byte.
		return Decision{Given: Given{Template: q.Given.Template, Spec: q.Spec}}, nil
	case diff.Live, diff.Warm:
		return all, nil
	}
	if q.asked(wanted) == diff.Cold || q.released(wanted) {
		return all, nil
	}
	chosen := q.milder(wanted)
	changes, class := q.between(chosen.Template, wanted)
	return Decision{Given: chosen, Pending: pending(ID(wanted), changes, class)}, nil
}

// asked returns what the user's own changes since the running template do to the items.
func (q Input) asked(wanted *Template) diff.Class {
	if same(q.Given.Spec, q.Spec) {
		return diff.None
	}
	before, err := q.Render(q.Given.Spec)
	if err != nil {
		return diff.Cold // It cannot be told any more what the user changed, only that they did.
	}
	if q.choseImage() {
		before = withImageOf(q.Given.Template, before) // What waits may be what the user now asks for.
	}
	_, class := q.between(before, wanted)
	return class
}

// released tells whether the change to the wanted template may be made although items are lost.
func (q Input) released(wanted *Template) bool {
	updates := q.Spec.Updates
	return updates != nil && (updates.Policy == v1alpha1.UpdateAutomatic || updates.Release != "" && updates.Release == ID(wanted))
}

// milder returns the template that has most of what is wanted and loses no item.
func (q Input) milder(wanted *Template) Given {
	for _, candidate := range q.candidates(wanted) {
		switch _, class := q.between(q.Given.Template, candidate); class {
		case diff.None:
			return Given{Template: q.Given.Template, Spec: q.Spec} // Byte by byte as well, as above.
		case diff.Live, diff.Warm:
			return Given{Template: candidate, Spec: q.Spec}
		}
	}
	return *q.Given
}

// between compares two templates of the workload.
func (q Input) between(from, to *Template) ([]diff.Change, diff.Class) {
	workload := diff.Deployment
	if inputs.StablePods(q.Spec) {
		workload = diff.StatefulSet
	}
	running, err := read(workload, from)
	if err != nil {
		return unreadable(err), diff.Cold
	}
	wanted, err := read(workload, to)
	if err != nil {
		return unreadable(err), diff.Cold
	}
	running.Version = cmp.Or(running.Version, q.version(running.Image))
	wanted.Version = cmp.Or(wanted.Version, q.version(wanted.Image))
	return diff.Compare(running, wanted, q.Features)
}

func (q Input) version(image string) string {
	if q.Version == nil {
		return ""
	}
	return q.Version(image)
}

// unreadable is for a template that somebody else wrote, or a later version of the operator.
func unreadable(err error) []diff.Change {
	return []diff.Change{{Field: "template", Class: diff.Cold,
		Reason: "What runs cannot be compared with what is wanted (" + err.Error() + "), so it is taken that items are lost."}}
}
