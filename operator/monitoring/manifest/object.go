package manifest

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Object is an apply configuration of one object, of a kind that need not have a Go type. It implements
// owned.Configuration.
type Object struct {
	content map[string]any
}

// newObject returns an object with metadata. Further fields are added with the methods below.
func newObject(apiVersion, kind, namespace, name string, labels map[string]string) *Object {
	return &Object{content: map[string]any{
		"apiVersion": apiVersion, "kind": kind,
		"metadata": map[string]any{"namespace": namespace, "name": name, "labels": labels},
	}}
}

// with sets a top-level field.
func (o *Object) with(field string, value any) *Object {
	o.content[field] = value
	return o
}

// withMetadata sets a field of metadata.
func (o *Object) withMetadata(field string, value any) *Object {
	o.metadata()[field] = value
	return o
}

// MarshalJSON implements json.Marshaler. The same content gives the same result.
func (o *Object) MarshalJSON() ([]byte, error) { return json.Marshal(o.content) }

// Unstructured returns a copy of the object, for clients.
func (o *Object) Unstructured() (*unstructured.Unstructured, error) {
	raw, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("encode %s %s: %w", *o.GetKind(), *o.GetName(), err)
	}
	copied := &unstructured.Unstructured{}
	// Unlike encoding/json, utiljson decodes integers as int64.
	if err := utiljson.Unmarshal(raw, &copied.Object); err != nil {
		return nil, fmt.Errorf("encode %s %s: %w", *o.GetKind(), *o.GetName(), err)
	}
	return copied, nil
}

// IsApplyConfiguration implements runtime.ApplyConfiguration.
func (*Object) IsApplyConfiguration() {}

// GetAPIVersion returns the group and version of the kind, never nil.
func (o *Object) GetAPIVersion() *string { return text(o.content, "apiVersion") }

// GetKind returns the kind, never nil.
func (o *Object) GetKind() *string { return text(o.content, "kind") }

// GetNamespace returns the namespace, never nil.
func (o *Object) GetNamespace() *string { return text(o.metadata(), "namespace") }

// GetName returns the name, never nil.
func (o *Object) GetName() *string { return text(o.metadata(), "name") }

func (o *Object) metadata() map[string]any {
	metadata, _ := o.content["metadata"].(map[string]any)
	return metadata
}

func text(from map[string]any, field string) *string {
	value, _ := from[field].(string)
	return &value
}
