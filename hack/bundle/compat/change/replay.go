package change

import (
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/crdify/pkg/validations"
)

// ReplayObjects validates objects that the older CRD accepted against the newer CRD, in every version that both serve. It
// does what OLM v0.46 does before it replaces a CRD (validateV1CRDCompatibility in pkg/controller/operators/catalog),
// which evaluates no CEL rules. OLM reads the objects through the older CRD, so they have its defaults and not those of the
// newer one. Each error names an object, the version and the field.
func ReplayObjects(older, newer *apiextensionsv1.CustomResourceDefinition, objects []*unstructured.Unstructured) []error {
	var errs []error
	for _, next := range newer.Spec.Versions {
		was := validations.GetCRDVersionByName(older, next.Name)
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

// ReplayStoredVersions returns an error for each version in status.storedVersions of a cluster's CRD that the newer CRD does
// not have. OLM v0.46 checks this in SafeStorageVersionUpgrade of pkg/lib/crd.
func ReplayStoredVersions(newer *apiextensionsv1.CustomResourceDefinition, stored []string) []error {
	var errs []error
	for _, name := range stored {
		if validations.GetCRDVersionByName(newer, name) == nil {
			errs = append(errs, fmt.Errorf("%s: objects may be stored in %s, which it no longer has", newer.Name, name))
		}
	}
	return errs
}

// served returns the object as the API server serves it in a version of its CRD: with the version's defaults. There is no
// conversion other than the name of the version.
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

// validate validates the object as OLM does, and as the API server does before it evaluates rules.
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

// structural returns the schema of a version in the form that defaulting, pruning and rules need.
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
