package owned

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
)

// Configuration is a client-go apply configuration: the fields of one object that we have an opinion on.
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

// Plan is the desired state of everything that one object owns. It is complete: what was wanted before and is wanted no
// longer stands in Absent, so that a reader, and a test, can see it go.
type Plan struct {
	// Present are the objects that must exist, in the order in which they are applied.
	Present []Configuration

	// Kept are objects that are left as they are until others have taken their place.
	Kept []Reference

	// Absent are the objects that must not exist. Only objects that are owned are ever deleted.
	Absent []Reference
}
