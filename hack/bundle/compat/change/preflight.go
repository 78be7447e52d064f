package change

import (
	"fmt"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/version"
	"sigs.k8s.io/crdify/pkg/config"
	"sigs.k8s.io/crdify/pkg/runner"
	"sigs.k8s.io/crdify/pkg/validations"
	"sigs.k8s.io/crdify/pkg/validations/property"
)

// RuleServedVersions is the rule of the finding that two served versions differ.
const RuleServedVersions = "served-versions"

// checks returns the checks of schemas that OLM v1's preflight makes, with OLM v1's configuration of crdify
// (operator-controller, preflights/crdupgradesafety): descriptions may change, and enums may grow.
func checks() ([]validations.Comparator[schema], error) {
	registry := runner.DefaultRegistry()
	all, err := validations.LoadValidationsFromRegistry(registry)
	if err != nil {
		return nil, fmt.Errorf("load crdify's checks: %w", err)
	}
	all, err = validations.ConfigureValidations(all, registry, config.Config{Validations: []config.ValidationConfig{
		{Name: "description", Enforcement: config.EnforcementPolicyNone},
		{Name: "enum", Enforcement: config.EnforcementPolicyError,
			Configuration: map[string]any{"additionPolicy": property.AdditionPolicyAllow}},
	}})
	if err != nil {
		return nil, fmt.Errorf("configure crdify's checks: %w", err)
	}
	var ordered []validations.Validation
	for _, name := range slices.Sorted(maps.Keys(all)) {
		ordered = append(ordered, all[name])
	}
	return validations.ComparatorsForValidations[schema](ordered...), nil
}

// compareServed compares the versions that the newer CRD serves with each other, as OLM v1 does unless a webhook converts
// them. What differed before may still differ.
func (j *judge) compareServed(old, next *apiextensionsv1.CustomResourceDefinition) []Finding {
	if next.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter {
		return nil
	}
	before := j.differences(old)
	return slices.DeleteFunc(j.differences(next), func(f Finding) bool { return slices.Contains(before, f) })
}

// differences compares each served version with those that follow it.
func (j *judge) differences(crd *apiextensionsv1.CustomResourceDefinition) []Finding {
	served := slices.DeleteFunc(slices.Clone(crd.Spec.Versions), func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return !v.Served })
	slices.SortFunc(served, func(a, b apiextensionsv1.CustomResourceDefinitionVersion) int {
		return version.CompareKubeAwareVersionStrings(a.Name, b.Name)
	})
	var findings []Finding
	for i, from := range served {
		for _, to := range served[i+1:] {
			for _, f := range j.compare(from.Schema.OpenAPIV3Schema, to.Schema.OpenAPIV3Schema) {
				findings = append(findings, Finding{Version: to.Name, Path: f.Path, Rule: RuleServedVersions,
					Change: "it differs from " + from.Name + ", which is served too: " + f.Change,
					Fix:    "give both versions the same schema: OLM v1 refuses the upgrade"})
			}
		}
	}
	return findings
}
