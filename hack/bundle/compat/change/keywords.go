package change

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// keyword judges a part of a schema that crdify has no check for.
type keyword struct {
	name string
	// tightened says what changed, empty when every object that was valid still is and means the same.
	tightened func(old, next *schema) string
	clear     func(*schema)
	mend      string
}

const (
	keepValues    = "allow every value that was allowed: stored objects may hold it, and OLM validates them before it upgrades"
	keepMeaning   = "keep it as it was: server-side apply would merge existing objects in another way"
	keepUnknown   = "keep what was accepted: fields in stored objects would be refused or dropped"
	cannotCompare = " (whether every old value still fits cannot be computed)"
)

var keywords = []keyword{
	{"pattern", patternChanged, func(s *schema) { s.Pattern = "" }, keepValues},
	{"format", formatChanged, func(s *schema) { s.Format = "" }, keepValues},
	{"multipleOf", func(old, next *schema) string {
		return introducedOrChanged("multipleOf", old.MultipleOf, next.MultipleOf)
	}, func(s *schema) { s.MultipleOf = nil }, keepValues},
	{"exclusiveMinimum", func(old, next *schema) string {
		return excluded("minimum", old.Minimum, next.Minimum, next.ExclusiveMinimum && !old.ExclusiveMinimum)
	}, func(s *schema) { s.ExclusiveMinimum = false }, keepValues},
	{"exclusiveMaximum", func(old, next *schema) string {
		return excluded("maximum", old.Maximum, next.Maximum, next.ExclusiveMaximum && !old.ExclusiveMaximum)
	}, func(s *schema) { s.ExclusiveMaximum = false }, keepValues},
	{"uniqueItems", func(old, next *schema) string {
		return onlyWhen(next.UniqueItems && !old.UniqueItems, "items have to be unique now")
	}, func(s *schema) { s.UniqueItems = false }, keepValues},
	{"nullable", func(old, next *schema) string {
		return onlyWhen(old.Nullable && !next.Nullable, "null is no longer allowed")
	}, func(s *schema) { s.Nullable = false }, keepValues},
	{"x-kubernetes-validations", rulesAdded, func(s *schema) { s.XValidations = nil },
		"take the rule back, or check in the reconciler and report a condition: stored objects may break it and could not be written again"},
	{"additionalProperties", mapNarrowed, func(s *schema) { s.AdditionalProperties = nil }, keepUnknown},
	{"x-kubernetes-preserve-unknown-fields", func(old, next *schema) string {
		return onlyWhen(isTrue(old.XPreserveUnknownFields) && !isTrue(next.XPreserveUnknownFields), "unknown fields are no longer kept")
	}, func(s *schema) { s.XPreserveUnknownFields = nil }, keepUnknown},
	{"x-kubernetes-embedded-resource", func(old, next *schema) string {
		return onlyWhen(next.XEmbeddedResource && !old.XEmbeddedResource, "the value has to be a whole Kubernetes object now")
	}, func(s *schema) { s.XEmbeddedResource = false }, keepValues},
	{"x-kubernetes-int-or-string", never, func(s *schema) { s.XIntOrString = false }, ""}, // Losing it is a change of type.
	{"x-kubernetes-list-type", func(old, next *schema) string {
		return replaced("list type", or(old.XListType, "atomic"), or(next.XListType, "atomic"))
	}, func(s *schema) { s.XListType = nil }, keepMeaning},
	{"x-kubernetes-list-map-keys", func(old, next *schema) string {
		if or(old.XListType, "atomic") != or(next.XListType, "atomic") {
			return "" // The list type says it all.
		}
		return replaced("list keys", strings.Join(old.XListMapKeys, ","), strings.Join(next.XListMapKeys, ","))
	}, func(s *schema) { s.XListMapKeys = nil }, keepMeaning},
	{"x-kubernetes-map-type", func(old, next *schema) string {
		return replaced("map type", or(old.XMapType, "granular"), or(next.XMapType, "granular"))
	}, func(s *schema) { s.XMapType = nil }, keepMeaning},
	{"allOf", func(old, next *schema) string { return introducedOrChanged("allOf", old.AllOf, next.AllOf) },
		func(s *schema) { s.AllOf = nil }, keepValues},
	{"anyOf", func(old, next *schema) string { return introducedOrChanged("anyOf", old.AnyOf, next.AnyOf) },
		func(s *schema) { s.AnyOf = nil }, keepValues},
	{"oneOf", func(old, next *schema) string { return introducedOrChanged("oneOf", old.OneOf, next.OneOf) },
		func(s *schema) { s.OneOf = nil }, keepValues},
	{"not", func(old, next *schema) string { return introducedOrChanged("not", old.Not, next.Not) },
		func(s *schema) { s.Not = nil }, keepValues},
	{"documentation", never, func(s *schema) {
		s.ID, s.Schema, s.Title, s.Description, s.ExternalDocs, s.Example = "", "", "", "", nil, nil
	}, ""},
}

func never(_, _ *schema) string { return "" }

func patternChanged(old, next *schema) string {
	switch {
	case next.Pattern == "" || next.Pattern == old.Pattern:
		return ""
	case old.Pattern == "":
		return "a pattern was introduced: " + next.Pattern
	default:
		return fmt.Sprintf("the pattern changed from %s to %s"+cannotCompare, old.Pattern, next.Pattern)
	}
}

func formatChanged(old, next *schema) string {
	switch {
	case next.Format == "" || next.Format == old.Format:
		return ""
	case old.Format == "":
		return "the format " + next.Format + " was introduced"
	default:
		return fmt.Sprintf("the format changed from %s to %s", old.Format, next.Format)
	}
}

// excluded tells of a bound that stayed but no longer belongs to what is allowed.
func excluded(bound string, old, next *float64, excludes bool) string {
	if !excludes || old == nil || next == nil || *old != *next {
		return "" // A bound that moved is crdify's to judge.
	}
	return fmt.Sprintf("the %s %v itself is no longer allowed", bound, *next)
}

// rulesAdded tells of CEL rules that the older schema does not have. Its messages may change: they decide nothing.
func rulesAdded(old, next *schema) string {
	var added []string
	for _, rule := range next.XValidations {
		known := slices.ContainsFunc(old.XValidations, func(was apiextensionsv1.ValidationRule) bool {
			return was.Rule == rule.Rule && isTrue(was.OptionalOldSelf) == isTrue(rule.OptionalOldSelf)
		})
		if !known {
			added = append(added, strings.Join(strings.Fields(rule.Rule), " "))
		}
	}
	return onlyWhen(len(added) > 0, "new or changed rules: "+strings.Join(added, " and "))
}

// mapNarrowed tells of unknown keys that were accepted and no longer are, or only with values of a certain schema.
func mapNarrowed(old, next *schema) string {
	was, is := old.AdditionalProperties, next.AdditionalProperties
	accepted := was != nil && (was.Allows || was.Schema != nil)
	accepts := is != nil && (is.Allows || is.Schema != nil)
	switch {
	case accepted && !accepts:
		return "keys of any name are no longer accepted"
	case accepted && was.Schema == nil && is.Schema != nil:
		return "values of any kind are no longer accepted"
	default:
		return ""
	}
}

// introducedOrChanged tells of a restriction that the older schema lacks or has in another form.
func introducedOrChanged(name string, old, next any) string {
	switch {
	case isEmpty(next) || equality.Semantic.DeepEqual(old, next):
		return ""
	case isEmpty(old):
		return name + " was introduced"
	default:
		return name + " changed" + cannotCompare
	}
}

func isEmpty(value any) bool {
	v := reflect.ValueOf(value)
	return v.IsNil() || v.Kind() == reflect.Slice && v.Len() == 0
}

func replaced(name, was, is string) string {
	return onlyWhen(was != is, fmt.Sprintf("the %s changed from %q to %q", name, was, is))
}

func onlyWhen(condition bool, change string) string {
	if condition {
		return change
	}
	return ""
}

func isTrue(flag *bool) bool { return flag != nil && *flag }

func or(value *string, fallback string) string {
	if value == nil {
		return fallback
	}
	return *value
}

// differing names the keywords that are not the same in both, sorted.
func differing(a, b *schema) []string {
	names := map[string]bool{}
	was, is := fields(a), fields(b)
	for name, value := range was {
		names[name] = string(is[name]) != string(value)
	}
	for name := range is {
		names[name] = names[name] || was[name] == nil
	}
	maps.DeleteFunc(names, func(_ string, differs bool) bool { return !differs })
	return slices.Sorted(maps.Keys(names))
}

// fields are the keywords that are set, as they are written.
func fields(s *schema) map[string]json.RawMessage {
	var set map[string]json.RawMessage
	if raw, err := json.Marshal(s); err == nil { // A schema that was read can be written.
		_ = json.Unmarshal(raw, &set)
	}
	return set
}
