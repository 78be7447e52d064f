package owned

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
)

// Configuration is a client-go apply configuration: the wanted fields of one object.
type Configuration interface {
	runtime.ApplyConfiguration
	GetAPIVersion() *string
	GetKind() *string
	GetNamespace() *string
	GetName() *string
}

// Reference names one object.
type Reference struct {
	schema.GroupVersionKind
	Namespace string
	Name      string
}

// ReferenceTo names the object that a configuration is for.
func ReferenceTo(configuration Configuration) Reference {
	return Reference{
		GroupVersionKind: schema.FromAPIVersionAndKind(
			ptr.Deref(configuration.GetAPIVersion(), ""), ptr.Deref(configuration.GetKind(), "")),
		Namespace: ptr.Deref(configuration.GetNamespace(), ""),
		Name:      ptr.Deref(configuration.GetName(), ""),
	}
}

// Need says that an object is not applied without another one.
type Need struct {
	Object, Needs Reference
}

// Plan is the desired state of all objects of one owner. It is complete: an object that is no longer wanted is in
// Absent.
type Plan struct {
	// New is that of IsNew. It saves reads, and decides nothing: whatever is there all the same is found.
	New bool `json:"-"`

	// Present are the objects that must exist, in the order in which they are applied.
	Present []Configuration

	// Needs are the objects of Present that are only applied if another one could be, which comes before them: an Ingress leads
	// to the Service of a name, and must not lead to somebody else's.
	Needs []Need

	// Kept are objects that stay unchanged until their replacements are ready.
	Kept []Reference

	// Absent are the objects that must not exist. Objects of other owners are never deleted.
	Absent []Reference

	// ResourceVersions are those of the objects that the plan was made from, empty for one that did not exist. An object that has
	// another one by now was written meanwhile, perhaps by a process that leads instead of this one: the plan is outdated.
	ResourceVersions map[Reference]string `json:"-"`

	// Recorded are the Deployments and StatefulSets of Present whose pod templates are recorded.
	Recorded []Recorded

	// Rendered are the Deployments of Present that keep no records, and that say themselves who wanted their pod templates.
	Rendered []Rendered `json:",omitempty"`
}

// Rendered is a Deployment that is annotated, whenever it is written, with what its pod template was rendered from.
type Rendered struct {
	Object Reference

	// Spec is the part of the owner's spec that pods are made from. If it stays the same, only the operator wants another template.
	Spec any

	// SpecApplied is true if the spec of the owner has been applied before: then nobody but the operator wants another template,
	// either. A Deployment of a release before 0.4.0 does not say for which spec its template was rendered.
	SpecApplied bool

	// Refused is why the Deployment must not get the pod template, nil if it may. One that was given it before keeps it, and is
	// scaled and repaired as before. That is also true if SpecApplied is.
	Refused error `json:"-"`
}

// Recorded is a Deployment or StatefulSet whose pod template is recorded. A write that is not about the template must not change
// the template, and bookkeeping alone is no reason to write.
type Recorded struct {
	Object Reference

	// Changed is true if the plan gives the workload another pod template than the operator last decided on.
	Changed bool

	// Record is the record that a workload names from now on if it is written. That a workload of an earlier release names none is no
	// reason to write it, but a write changes how that release would recognise it.
	Record string

	// Named is the record that the workload named when the plan was made, nil if there was no workload. A workload that names another one
	// by now was given another template, perhaps by a process that leads instead of this one, and the plan is outdated.
	Named *string `json:"-"`

	// SpecApplied is true if the spec of the owner has been applied before: then only somebody else can have changed the size.
	SpecApplied bool

	// Release is the ID of a write that the user has approved although the API server would change more than the operator
	// asks for. Automatic approves all of them.
	Release   string
	Automatic bool
}

// Held is a write that waits for approval: an admission policy would change the pod template of a Deployment although the operator
// does not, and Kubernetes would replace the pods.
type Held struct {
	Object Reference

	// ID identifies what would be written. It changes with what the policy would add.
	ID string

	// Fields are the sorted paths that the policy would change.
	Fields []string
}

// RecordAnnotation names the record of the pod template that a Deployment or StatefulSet was given. It is missing on workloads of
// releases before 0.4.0 until their template changes.
const RecordAnnotation = "cache.example.com/record"
