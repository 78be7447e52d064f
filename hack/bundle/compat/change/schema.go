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

// RuleRemoved is the rule of the finding that a field is gone.
const RuleRemoved = "removed"

// ruleType is crdify's name for a changed type. Where the type changed, nothing else is worth saying.
const ruleType = "type"

// ruleUnknown is the rule of a change that none of the checks knows.
const ruleUnknown = "unknown"

// judge compares schemas with crdify's comparators and with the keywords of this package.
//
// It walks the two schemas by itself: crdify's own walk files every branch of allOf, anyOf, oneOf and not under the
// path of the field that they are about, where the last one hides the field's own schema.
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

// compare returns the findings of one version, without its name.
func (j *judge) compare(old, next *schema) []Finding {
	j.findings = nil
	j.walk("", old, next)
	return j.findings
}

func (j *judge) add(path, rule, change, mend string) {
	j.findings = append(j.findings, Finding{Path: path, Rule: rule, Change: change, Mend: mend})
}

func (j *judge) walk(path string, old, next *schema) {
	if old.Type != next.Type || old.XIntOrString && !next.XIntOrString {
		j.add(path, ruleType, fmt.Sprintf("the type changed from %s to %s", typeOf(old), typeOf(next)),
			"keep the type and add a field of another name: stored objects would not be valid")
		return
	}
	j.node(path, old, next)
	for _, name := range slices.Sorted(maps.Keys(old.Properties)) {
		was := old.Properties[name]
		is, kept := next.Properties[name]
		if !kept {
			j.add(child(path, name), RuleRemoved, "the field was removed",
				"put it back, deprecated in its description if need be: what users wrote into it would be dropped")
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

// node compares the keywords of one place of the schema. Whatever is judged is cleared in the copies, so that a keyword
// that nobody judged is found at the end and not passed over.
func (j *judge) node(path string, old, next *schema) {
	a, b := shallow(old), shallow(next)
	for _, comparator := range j.comparators {
		result := comparator.Compare(a, b)
		for _, message := range result.Errors {
			if result.Name == "required" { // crdify lists these in no particular order.
				message = "new required fields: " + strings.Join(missing(next.Required, old.Required), ", ")
			}
			j.add(path, result.Name, strings.ReplaceAll(message, " : ", ": "), mendOf(result.Name))
		}
	}
	for _, k := range keywords {
		if change := k.tightened(old, next); change != "" {
			j.add(path, k.name, change, k.mend)
		}
		k.clear(a)
		k.clear(b)
	}
	if !equality.Semantic.DeepEqual(a, b) {
		j.add(path, ruleUnknown, "changed in a way that no check knows: "+strings.Join(differing(a, b), ", "),
			"keep it as it was, or teach hack/bundle/compat/change what the change means")
	}
}

// mendOf says what to do about a finding of one of crdify's checks.
func mendOf(rule string) string {
	switch rule {
	case "default":
		return "keep the default as it was and handle the new case in the operator: existing caches would change although nobody asked"
	case "enum":
		return "allow every value that was allowed: stored objects may hold it"
	case "required":
		return "make them optional: stored objects do not have them"
	default:
		return "allow every value that was allowed: stored objects may hold it, and OLM validates them before it upgrades"
	}
}

// shallow copies the schema of one place without the places below it, which are compared by themselves.
func shallow(s *schema) *schema {
	s = validations.DropChildrenPropertiesFromJSONSchema(s)
	s.AdditionalProperties = nil // Judged by keywords and walk.
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
