package change

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/crdify/pkg/config"
	"sigs.k8s.io/crdify/pkg/runner"
	"sigs.k8s.io/crdify/pkg/validations"
	"sigs.k8s.io/crdify/pkg/validations/property"
)

// RulePreflight is the rule of a change that breaks no object, but that OLM v1 refuses.
const RulePreflight = "olm-v1"

// preflightConfig is OLM v1's configuration of crdify (operator-controller, preflights/crdupgradesafety): it refuses
// changes that crdify has no check for. Descriptions may change, and enums may grow.
func preflightConfig() *config.Config {
	return &config.Config{
		Conversion:           config.ConversionPolicyIgnore,
		UnhandledEnforcement: config.EnforcementPolicyError,
		Validations: []config.ValidationConfig{
			{Name: "description", Enforcement: config.EnforcementPolicyNone},
			{Name: "enum", Enforcement: config.EnforcementPolicyError,
				Configuration: map[string]any{"additionPolicy": property.AdditionPolicyAllow}},
		},
	}
}

// preflight runs OLM v1's check and returns what it refuses, except for the known findings.
func preflight(old, next *apiextensionsv1.CustomResourceDefinition, known []Finding) ([]Finding, error) {
	check, err := runner.New(preflightConfig(), runner.DefaultRegistry())
	if err != nil {
		return nil, fmt.Errorf("prepare OLM v1's preflight check: %w", err)
	}
	results := check.Run(old, next)
	var findings []Finding
	refuse := func(at place, why string) {
		findings = append(findings, Finding{Version: at.version, Path: at.path, Rule: RulePreflight,
			Change: "OLM v1 refuses the upgrade: " + why,
			Fix:    "keep this part of the schema: no existing object breaks, but OLM v1 stops before it looks at them"})
	}
	for _, at := range removedFields(results.CRDValidation) {
		if !covered(at, RuleRemoved, known) {
			refuse(at, "the field was removed")
		}
	}
	for name, places := range results.SameVersionValidation {
		for where, outcomes := range places {
			at := place{name, pathOf(where)}
			if why := refusals(at, outcomes, unhandled(where, version(old, name), version(next, name)), known); why != "" {
				refuse(at, why)
			}
		}
	}
	for pair, places := range results.ServedVersionValidation {
		from, to, _ := strings.Cut(pair, " -> ")
		for where, outcomes := range places {
			at := place{to, pathOf(where)}
			if why := refusals(at, outcomes, unhandled(where, version(next, from), version(next, to)), nil); why != "" {
				refuse(at, "it differs from "+from+", which is served too: "+why)
			}
		}
	}
	return findings, nil
}

// refusals joins crdify's messages about a place that no known finding covers. For a change without a check, which crdify
// prints as a long diff, it gives the name of the keyword.
func refusals(at place, outcomes []validations.ComparisonResult, unhandled []string, known []Finding) string {
	var why []string
	for _, outcome := range outcomes {
		if len(outcome.Errors) == 0 {
			continue
		}
		if outcome.Name != "unhandled" {
			if !covered(at, outcome.Name, known) {
				why = append(why, strings.ReplaceAll(strings.Join(outcome.Errors, " and "), " : ", ": "))
			}
			continue
		}
		for _, name := range unhandled {
			if !covered(at, name, known) {
				why = append(why, "it has no check for a change of "+name)
			}
		}
	}
	slices.Sort(why)
	return strings.Join(why, " and ")
}

// unhandled returns the keywords that differ at a place and that crdify has no check for.
func unhandled(where string, old, next *apiextensionsv1.CustomResourceDefinitionVersion) []string {
	a, b := validations.FlattenCRDVersion(*old)[where], validations.FlattenCRDVersion(*next)[where]
	if a == nil || b == nil {
		return []string{RuleRemoved}
	}
	handled := runner.DefaultRegistry().Registered()
	return slices.DeleteFunc(differing(a, b), func(name string) bool {
		return name == "properties" || name == "items" || slices.Contains(handled, name)
	})
}

// place is a field of a version.
type place struct{ version, path string }

// removedFields parses crdify's "removed field : v1.^.spec.size". compareNames and ReplayStoredVersions make crdify's other
// checks of whole CRDs (scope, stored versions).
func removedFields(outcomes []validations.ComparisonResult) []place {
	removed := map[place]bool{}
	for _, outcome := range outcomes {
		if outcome.Name != "existingFieldRemoval" {
			continue
		}
		for _, message := range outcome.Errors {
			_, where, _ := strings.Cut(message, " : ")
			version, path, _ := strings.Cut(where, ".^")
			removed[place{version, pathOf("^" + path)}] = true
		}
	}
	return slices.SortedFunc(maps.Keys(removed), func(a, b place) int {
		return strings.Compare(a.version+a.path, b.version+b.path)
	})
}

// pathOf turns crdify's "^.spec.size" into "spec.size".
func pathOf(place string) string {
	return strings.TrimPrefix(strings.TrimPrefix(place, "^"), ".")
}

// covered reports whether a known finding says the same as crdify about a keyword at a place. It is about the same
// keyword; about branches, which crdify mistakes for the field; about the values of a map, which crdify also reports for
// the map; or about a field at or above the place that is removed, closed or of another type.
func covered(at place, keyword string, known []Finding) bool {
	return slices.ContainsFunc(known, func(f Finding) bool {
		if f.Version != at.version {
			return false
		}
		switch f.Rule {
		case RuleRemoved, ruleType:
			if f.Path == at.path || strings.HasPrefix(at.path, f.Path+".") || strings.HasPrefix(at.path, f.Path+"[*]") {
				return true
			}
		case "additionalProperties":
			if f.Path == at.path || strings.HasPrefix(at.path, f.Path+"[*]") {
				return true
			}
		case "allOf", "anyOf", "oneOf", "not", ruleUnknown, keyword:
			if f.Path == at.path {
				return true
			}
		}
		return keyword == "additionalProperties" && strings.HasPrefix(f.Path, at.path+"[*]")
	})
}
