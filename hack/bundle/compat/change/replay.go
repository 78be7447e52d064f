// Package replay does to sample objects what OLM v0 does to the objects of a cluster before it replaces a definition
// (CRD), so that an upgrade that OLM would stop is found before it is released. It is pure: definitions and objects in,
// errors out. What a change of a definition means beyond OLM's two checks lives in package change.
//
// The checks are those of OLM v0.46, pkg/controller/operators/catalog: validateV1CRDCompatibility and, for stored
// versions, pkg/lib/crd.SafeStorageVersionUpgrade. OLM looks at schemas alone: it evaluates no CEL rule.
package change

import (
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ReplayObjects validates objects, which the older definition accepted, against the newer one in every version that both
// serve. The API server hands OLM the objects through the older definition, so they carry its defaults and not the
// newer one's. Each error names an object, the version and the field.
func ReplayObjects(older, newer *apiextensionsv1.CustomResourceDefinition, objects []*unstructured.Unstructured) []error {
	var errs []error
	for _, next := range newer.Spec.Versions {
		was := version(older, next.Name)
		if was == nil || !was.Served || !next.Served {
			continue
		}
		for _, object := range objects {
			served, err := served(older, was, object)
			if err == nil {
				err = validate(&next, served)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("%s %s %s %q: %w", newer.Name, next.Name, object.GetKind(), object.GetName(), err))
			}
		}
	}
	return errs
}

// ReplayStoredVersions returns an error for each version that a cluster's definition lists in status.storedVersions and that
// the newer definition does not have.
func ReplayStoredVersions(newer *apiextensionsv1.CustomResourceDefinition, stored []string) []error {
	var errs []error
	for _, name := range stored {
		if version(newer, name) == nil {
			errs = append(errs, fmt.Errorf("%s: objects may be stored in %s, which it no longer has", newer.Name, name))
		}
	}
	return errs
}

// served returns the object as the API server serves it in a version of its definition: with the version's defaults,
// and, as conversion only changes the version's name, otherwise as it is stored.
func served(crd *apiextensionsv1.CustomResourceDefinition, version *apiextensionsv1.CustomResourceDefinitionVersion, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	structural, err := structural(version)
	if err != nil {
		return nil, err
	}
	served := object.DeepCopy()
	served.SetAPIVersion(crd.Spec.Group + "/" + version.Name)
	defaulting.Default(served.Object, structural)
	return served, nil
}

// validate validates the object as OLM does, and the API server too before it evaluates rules.
func validate(version *apiextensionsv1.CustomResourceDefinitionVersion, object *unstructured.Unstructured) error {
	internal, err := convert(version)
	if err != nil {
		return err
	}
	validator, _, err := validation.NewSchemaValidator(internal.OpenAPIV3Schema)
	if err != nil {
		return fmt.Errorf("the schema of %s cannot be used: %w", version.Name, err)
	}
	found := validation.ValidateCustomResource(nil, object.UnstructuredContent(), validator)
	if err := found.ToAggregate(); err != nil {
		return fmt.Errorf("validation is too restrictive: %w", err)
	}
	return nil
}

// structural returns the schema of a version in the form that defaulting, pruning and rules work with.
func structural(version *apiextensionsv1.CustomResourceDefinitionVersion) (*structuralschema.Structural, error) {
	internal, err := convert(version)
	if err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(internal.OpenAPIV3Schema)
	if err != nil {
		return nil, fmt.Errorf("the schema of %s is not structural: %w", version.Name, err)
	}
	return structural, nil
}

func convert(version *apiextensionsv1.CustomResourceDefinitionVersion) (*apiextensions.CustomResourceValidation, error) {
	if version.Schema == nil || version.Schema.OpenAPIV3Schema == nil {
		return nil, fmt.Errorf("version %s has no schema", version.Name)
	}
	internal := &apiextensions.CustomResourceValidation{}
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(version.Schema, internal, nil); err != nil {
		return nil, fmt.Errorf("read the schema of %s: %w", version.Name, err)
	}
	return internal, nil
}
