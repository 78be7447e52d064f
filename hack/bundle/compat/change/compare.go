package change

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// RuleGone is the rule of the finding that a definition is missing from the newer release.
const RuleGone = "definition"

// Compare lists every incompatibility between the definitions of two releases. Definitions that only the newer one has
// are additions. Its error is about definitions that no API server would take, which cannot be compared.
func Compare(older, newer []*apiextensionsv1.CustomResourceDefinition) ([]Finding, error) {
	var findings []Finding
	for _, old := range older {
		next := find(newer, old.Name)
		if next == nil {
			findings = append(findings, Finding{Definition: old.Name, Rule: RuleGone,
				Change: "the definition is no longer part of the bundle",
				Mend:   "put it back: the objects of its users would be without an operator"})
			continue
		}
		more, err := definition(old, next)
		if err != nil {
			return nil, err
		}
		findings = append(findings, more...)
	}
	return sorted(findings), nil
}

func find(list []*apiextensionsv1.CustomResourceDefinition, name string) *apiextensionsv1.CustomResourceDefinition {
	for _, crd := range list {
		if crd.Name == name {
			return crd
		}
	}
	return nil
}

// definition compares two definitions of the same name.
func definition(older, newer *apiextensionsv1.CustomResourceDefinition) ([]Finding, error) {
	old, err := filled(older)
	if err != nil {
		return nil, err
	}
	next, err := filled(newer)
	if err != nil {
		return nil, err
	}
	schemas, err := newJudge()
	if err != nil {
		return nil, err
	}
	findings := append(identity(old, next), versions(old, next)...)
	var inSchemas []Finding
	for i := range old.Spec.Versions {
		oldVersion := &old.Spec.Versions[i]
		newVersion := version(next, oldVersion.Name)
		if newVersion == nil {
			continue // Named by versions above.
		}
		findings = append(findings, named(oldVersion.Name, subresources(oldVersion, newVersion))...)
		inSchemas = append(inSchemas, named(oldVersion.Name,
			schemas.compare(oldVersion.Schema.OpenAPIV3Schema, newVersion.Schema.OpenAPIV3Schema))...)
	}
	refused, err := preflight(old, next, inSchemas)
	if err != nil {
		return nil, err
	}
	findings = append(append(findings, inSchemas...), refused...)
	for i := range findings {
		findings[i].Definition = old.Name
	}
	return findings, nil
}

// named fills in the version that findings are about.
func named(version string, findings []Finding) []Finding {
	for i := range findings {
		findings[i].Version = version
	}
	return findings
}

// filled returns a copy with the defaults that the API server sets, so that leaving a field out and writing its default
// compare as equal.
func filled(crd *apiextensionsv1.CustomResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error) {
	crd = crd.DeepCopy()
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)
	for _, v := range crd.Spec.Versions {
		if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			return nil, fmt.Errorf("%s %s has no schema: a definition needs spec.versions[].schema.openAPIV3Schema", crd.Name, v.Name)
		}
	}
	return crd, nil
}

func version(crd *apiextensionsv1.CustomResourceDefinition, name string) *apiextensionsv1.CustomResourceDefinitionVersion {
	for i := range crd.Spec.Versions {
		if crd.Spec.Versions[i].Name == name {
			return &crd.Spec.Versions[i]
		}
	}
	return nil
}
