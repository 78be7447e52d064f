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
	// Present are the objects that must exist, in the order in which they are applied.
	Present []Configuration

	// Needs are the objects of Present that are only applied if another one could be, which comes before them: an Ingress leads
	// to the Service of a name, and must not lead to somebody else's.
	Needs []Need

	// Kept are objects that stay unchanged until their replacements are ready.
	Kept []Reference

	// Absent are the objects that must not exist. Objects of other owners are never deleted.
	Absent []Reference
}
