package change

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/crdify/pkg/runner"
	"sigs.k8s.io/crdify/pkg/validations"
)

type schema = apiextensionsv1.JSONSchemaProps

// RuleRemoved is the rule of the finding that a field was removed.
const RuleRemoved = "removed"

// ruleType is crdify's name for a change of type. It hides all other findings of the field.
const ruleType = "type"

// ruleUnknown is the rule of a change that no check knows.
const ruleUnknown = "unknown"

// judge compares schemas with crdify's comparators and the keywords of this package.
//
// It does not use crdify's walk of the schemas. That stores the branches of allOf, anyOf, oneOf and not under the path of
// their field, where the last branch hides the field's own schema.
type judge struct {
	comparators []validations.Comparator[schema]
	findings    []Finding
}

func newJudge() (*judge, error) {
	loaded, err := validations.LoadValidationsFromRegistry(runner.DefaultRegistry())
	if err != nil {
		return nil, fmt.Errorf("load crdify's checks: %w", err)
	}
	configured, err := validations.ConfigureValidations(loaded, runner.DefaultRegistry(), *preflightConfig())
	if err != nil {
		return nil, fmt.Errorf("configure crdify's checks: %w", err)
	}
	var ordered []validations.Validation
	for _, name := range slices.Sorted(maps.Keys(configured)) {
		ordered = append(ordered, configured[name])
	}
	return &judge{comparators: validations.ComparatorsForValidations[schema](ordered...)}, nil
}

// compare returns the findings of a version, without its name.
func (j *judge) compare(old, next *schema) []Finding {
	j.findings = nil
	j.walk("", old, next)
	return j.findings
}

func (j *judge) add(path, rule, change, fix string) {
	j.findings = append(j.findings, Finding{Path: path, Rule: rule, Change: change, Fix: fix})
}

func (j *judge) walk(path string, old, next *schema) {
	if old.Type != next.Type || old.XIntOrString && !next.XIntOrString {
		j.add(path, ruleType, fmt.Sprintf("the type changed from %s to %s", typeOf(old), typeOf(next)),
			"keep the type and add a field of another name: stored objects would be invalid")
		return
	}
	j.compareKeywords(path, old, next)
	for _, name := range slices.Sorted(maps.Keys(old.Properties)) {
		was := old.Properties[name]
		is, kept := next.Properties[name]
		if !kept {
			j.add(child(path, name), RuleRemoved, "the field was removed",
				"put it back, deprecated in its description if necessary: values that users set would be dropped")
			continue
		}
		j.walk(child(path, name), &was, &is)
	}
	if was, is := items(old), items(next); was != nil && is != nil {
		j.walk(path+"[*]", was, is)
	}
	if was, is := values(old), values(next); was != nil && is != nil {
		j.walk(path+"[*]", was, is)
	}
}

// compareKeywords compares the keywords of one place in the schema. It clears every keyword that it has checked, so that
// what remains at the end is a change that no check knows.
func (j *judge) compareKeywords(path string, old, next *schema) {
	a, b := shallow(old), shallow(next)
	for _, comparator := range j.comparators {
		result := comparator.Compare(a, b)
		for _, message := range result.Errors {
			if result.Name == "required" { // crdify does not sort these.
				message = "new required fields: " + strings.Join(missing(next.Required, old.Required), ", ")
			}
			j.add(path, result.Name, strings.ReplaceAll(message, " : ", ": "), fixOf(result.Name))
		}
	}
	for _, k := range keywords {
		if change := k.tightened(old, next); change != "" {
			j.add(path, k.name, change, k.fix)
		}
		k.clear(a)
		k.clear(b)
	}
	if !equality.Semantic.DeepEqual(a, b) {
		j.add(path, ruleUnknown, "changed in a way that no check knows: "+strings.Join(differing(a, b), ", "),
			"keep it, or add a check of it to hack/bundle/compat/change")
	}
}

// fixOf returns what to do about a finding of crdify.
func fixOf(rule string) string {
	switch rule {
	case "default":
		return "keep the default and handle the new case in the operator: existing caches would change without a change of their spec"
	case "enum":
		return "allow every value that was allowed: stored objects may have it"
	case "required":
		return "make them optional: stored objects do not have them"
	default:
		return keepValues
	}
}

// shallow copies the schema without the schemas below it, which walk compares.
func shallow(s *schema) *schema {
	s = validations.DropChildrenPropertiesFromJSONSchema(s)
	s.AdditionalProperties = nil // Checked by keywords and walk.
	return s
}

func items(s *schema) *schema {
	if s.Items == nil {
		return nil
	}
	return s.Items.Schema
}

func values(s *schema) *schema {
	if s.AdditionalProperties == nil {
		return nil
	}
	return s.AdditionalProperties.Schema
}

func typeOf(s *schema) string {
	switch {
	case s.XIntOrString:
		return "integer or string"
	case s.Type == "":
		return "any"
	default:
		return s.Type
	}
}

func child(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
