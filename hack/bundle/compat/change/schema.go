package change

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/crdify/pkg/validations"
)

type schema = apiextensionsv1.JSONSchemaProps

// RuleRemoved is the rule of the finding that a field was removed.
const RuleRemoved = "removed"

// judge compares schemas with crdify's checks. It reports every other change too, as OLM v1 does: crdify cannot tell
// whether it breaks objects.
//
// It does not use crdify's walk of the schemas. That stores the branches of allOf, anyOf, oneOf and not under the path of
// their field, where the last branch hides the field's own schema.
type judge struct {
	checks   []validations.Comparator[schema]
	findings []Finding
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
		j.add(path, "type", fmt.Sprintf("the type changed from %s to %s", typeOf(old), typeOf(next)),
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
	if old.Items != nil && next.Items != nil { // Lists without items are not structural.
		j.walk(path+"[*]", old.Items.Schema, next.Items.Schema)
	}
}

// compareKeywords compares the keywords of one place in the schema. Each check clears the keyword that it has compared, so
// what differs at the end has no check.
func (j *judge) compareKeywords(path string, old, next *schema) {
	a, b := validations.DropChildrenPropertiesFromJSONSchema(old), validations.DropChildrenPropertiesFromJSONSchema(next)
	for _, check := range j.checks {
		result := check.Compare(a, b)
		for _, message := range result.Errors {
			if result.Name == "required" { // crdify does not sort these.
				message = "new required fields: " + strings.Join(missing(next.Required, old.Required), ", ")
			}
			j.add(path, result.Name, strings.ReplaceAll(message, " : ", ": "), fixOf(result.Name))
		}
	}
	was, is := fields(a), fields(b)
	both := maps.Clone(was)
	maps.Copy(both, is)
	for _, name := range slices.Sorted(maps.Keys(both)) {
		if !equality.Semantic.DeepEqual(was[name], is[name]) {
			j.add(path, name, changed(name, was[name], is[name]), fixOf(name))
		}
	}
}

// fields returns the keywords that are set.
func fields(s *schema) map[string]any {
	set, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(s) // A schema that was decoded can be encoded.
	return set
}

// changed describes the change of a keyword in one line.
func changed(name string, was, is any) string {
	text := fmt.Sprintf("%s changed from %v to %v", name, was, is)
	switch {
	case was == nil:
		text = fmt.Sprintf("%s was introduced: %v", name, is)
	case is == nil:
		text = fmt.Sprintf("%s was removed: %v", name, was)
	}
	return strings.Join(strings.Fields(text), " ")
}

// fixOf returns what to do about the change of a keyword.
func fixOf(keyword string) string {
	switch keyword {
	case "default":
		return "keep the default and handle the new case in the operator: existing caches would change without a change of their spec"
	case "required":
		return "make them optional: stored objects do not have them"
	case "x-kubernetes-validations":
		return "keep the rules, and check new ones in the reconciler and report a condition: stored objects may break a rule and " +
			"could not be updated, and OLM v1 refuses every change of rules"
	case "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type":
		return "keep it: server-side apply would merge existing objects in another way, and OLM v1 refuses the change"
	case "enum", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		return "allow every value that was allowed: stored objects may have it, and OLM validates them before an upgrade"
	default:
		return "keep it: stored objects may have values that it no longer allows, and OLM v1 refuses every change of it"
	}
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
