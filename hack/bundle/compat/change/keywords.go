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
	"k8s.io/utils/ptr"
)

// keyword checks a keyword of a schema that crdify has no check for.
type keyword struct {
	name string
	// tightened says what changed. It is empty if every valid object stays valid and means the same.
	tightened func(old, next *schema) string
	clear     func(*schema)
	fix       string
}

const (
	keepValues    = "allow every value that was allowed: stored objects may have it, and OLM validates them before an upgrade"
	keepMeaning   = "keep it: server-side apply would merge existing objects in another way"
	keepUnknown   = "keep accepting it: fields of stored objects would be refused or dropped"
	cannotCompare = " (it cannot be computed whether every old value still fits)"
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
		return onlyWhen(next.UniqueItems && !old.UniqueItems, "items must be unique now")
	}, func(s *schema) { s.UniqueItems = false }, keepValues},
	{"nullable", func(old, next *schema) string {
		return onlyWhen(old.Nullable && !next.Nullable, "null is no longer allowed")
	}, func(s *schema) { s.Nullable = false }, keepValues},
	{"x-kubernetes-validations", rulesAdded, func(s *schema) { s.XValidations = nil },
		"remove the rule, or check it in the reconciler and report a condition: stored objects may break it and could not be updated"},
	{"additionalProperties", mapNarrowed, func(s *schema) { s.AdditionalProperties = nil }, keepUnknown},
	{"x-kubernetes-preserve-unknown-fields", func(old, next *schema) string {
		return onlyWhen(ptr.Deref(old.XPreserveUnknownFields, false) && !ptr.Deref(next.XPreserveUnknownFields, false), "unknown fields are no longer kept")
	}, func(s *schema) { s.XPreserveUnknownFields = nil }, keepUnknown},
	{"x-kubernetes-embedded-resource", func(old, next *schema) string {
		return onlyWhen(next.XEmbeddedResource && !old.XEmbeddedResource, "the value must be a Kubernetes object now")
	}, func(s *schema) { s.XEmbeddedResource = false }, keepValues},
	{"x-kubernetes-int-or-string", never, func(s *schema) { s.XIntOrString = false }, ""}, // Its removal is a change of type.
	{"x-kubernetes-list-type", func(old, next *schema) string {
		return replaced("list type", ptr.Deref(old.XListType, "atomic"), ptr.Deref(next.XListType, "atomic"))
	}, func(s *schema) { s.XListType = nil }, keepMeaning},
	{"x-kubernetes-list-map-keys", func(old, next *schema) string {
		if ptr.Deref(old.XListType, "atomic") != ptr.Deref(next.XListType, "atomic") {
			return "" // x-kubernetes-list-type reports it.
		}
		return replaced("list keys", strings.Join(old.XListMapKeys, ","), strings.Join(next.XListMapKeys, ","))
	}, func(s *schema) { s.XListMapKeys = nil }, keepMeaning},
	{"x-kubernetes-map-type", func(old, next *schema) string {
		return replaced("map type", ptr.Deref(old.XMapType, "granular"), ptr.Deref(next.XMapType, "granular"))
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

// excluded reports a bound that is the same but no longer allowed itself.
func excluded(bound string, old, next *float64, excludes bool) string {
	if !excludes || old == nil || next == nil || *old != *next {
		return "" // crdify checks a changed bound.
	}
	return fmt.Sprintf("the %s %v itself is no longer allowed", bound, *next)
}

// rulesAdded reports CEL rules that the older schema does not have. Their messages may change.
func rulesAdded(old, next *schema) string {
	var added []string
	for _, rule := range next.XValidations {
		known := slices.ContainsFunc(old.XValidations, func(was apiextensionsv1.ValidationRule) bool {
			return was.Rule == rule.Rule && ptr.Deref(was.OptionalOldSelf, false) == ptr.Deref(rule.OptionalOldSelf, false)
		})
		if !known {
			added = append(added, strings.Join(strings.Fields(rule.Rule), " "))
		}
	}
	return onlyWhen(len(added) > 0, "new or changed rules: "+strings.Join(added, " and "))
}

// mapNarrowed reports that arbitrary keys are no longer accepted, or only with values of a certain schema.
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

// introducedOrChanged reports a restriction that the older schema lacks or has in another form.
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

// differing returns the keywords that differ, sorted.
func differing(a, b *schema) []string {
	was, is := fields(a), fields(b)
	both := maps.Clone(was)
	maps.Copy(both, is)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(both)), func(name string) bool { return string(was[name]) == string(is[name]) })
}

// fields returns the keywords that are set, as JSON.
func fields(s *schema) map[string]json.RawMessage {
	set := map[string]json.RawMessage{}
	if raw, err := json.Marshal(s); err == nil { // A schema that was decoded can be encoded.
		_ = json.Unmarshal(raw, &set)
	}
	return set
}
