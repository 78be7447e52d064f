package change

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/crdify/pkg/validations"
)

// compareNames compares what all versions of a CRD share: names, scope and conversion.
func compareNames(old, next *apiextensionsv1.CustomResourceDefinition) []Finding {
	var findings []Finding
	changed := func(rule, was, is, fix string) {
		if was != is {
			findings = append(findings, Finding{Rule: rule, Change: fmt.Sprintf("%s changed from %s to %s", rule, was, is), Fix: fix})
		}
	}
	const keepName = "keep it: manifests, roles and kubectl commands of users name it"
	was, is := old.Spec.Names, next.Spec.Names
	changed("group", old.Spec.Group, next.Spec.Group, keepName)
	changed("kind", was.Kind, is.Kind, keepName)
	changed("listKind", was.ListKind, is.ListKind, keepName)
	changed("plural", was.Plural, is.Plural, keepName)
	changed("singular", was.Singular, is.Singular, keepName)
	changed("scope", string(old.Spec.Scope), string(next.Spec.Scope),
		"keep it: the API server refuses the change, and existing objects would be lost")
	changed("conversion", string(old.Spec.Conversion.Strategy), string(next.Spec.Conversion.Strategy),
		"keep the strategy and identical schemas: OLM starts a conversion webhook only after it has replaced the CRD")
	for rule, names := range map[string][2][]string{"shortNames": {was.ShortNames, is.ShortNames}, "categories": {was.Categories, is.Categories}} {
		if gone := missing(names[0], names[1]); len(gone) > 0 {
			findings = append(findings, Finding{Rule: rule, Change: rule + " lost " + strings.Join(gone, ", "), Fix: keepName})
		}
	}
	return findings
}

// compareVersions compares the set of versions, which of them are served, and which one is stored.
func compareVersions(old, next *apiextensionsv1.CustomResourceDefinition) []Finding {
	var findings []Finding
	for _, was := range old.Spec.Versions {
		is := validations.GetCRDVersionByName(next, was.Name)
		switch {
		case is == nil && was.Storage:
			findings = append(findings, Finding{Version: was.Name, Rule: "storage",
				Change: "the version that objects are stored in was removed",
				Fix:    "keep serving it beside the new one: OLM stops the upgrade while status.storedVersions names it"})
		case is == nil:
			findings = append(findings, Finding{Version: was.Name, Rule: "version", Change: "the version was removed",
				Fix: "keep it, marked deprecated: manifests of users name it"})
		case was.Served && !is.Served:
			findings = append(findings, Finding{Version: was.Name, Rule: "served", Change: "the version is no longer served",
				Fix: "serve it, marked deprecated: manifests of users, and the previous operator until it is replaced, request it"})
		}
	}
	return findings
}

// compareSubresources compares the subresources and the selectable fields of a version.
func compareSubresources(old, next *apiextensionsv1.CustomResourceDefinitionVersion) []Finding {
	var findings []Finding
	was, is := old.Subresources, next.Subresources
	if was == nil {
		was = &apiextensionsv1.CustomResourceSubresources{}
	}
	if is == nil {
		is = &apiextensionsv1.CustomResourceSubresources{}
	}
	if was.Status != nil && is.Status == nil {
		findings = append(findings, Finding{Rule: "status", Change: "the status subresource was removed",
			Fix: "keep subresources.status: operators write the status through it"})
	}
	switch {
	case was.Scale != nil && is.Scale == nil:
		findings = append(findings, Finding{Rule: "scale", Change: "the scale subresource was removed",
			Fix: "keep subresources.scale: `kubectl scale` and autoscalers use it"})
	case was.Scale != nil && !equality.Semantic.DeepEqual(was.Scale, is.Scale):
		findings = append(findings, Finding{Rule: "scale", Change: "the paths of the scale subresource changed",
			Fix: "keep them: autoscalers would read and write other fields"})
	}
	paths := func(version *apiextensionsv1.CustomResourceDefinitionVersion) []string {
		var paths []string
		for _, field := range version.SelectableFields {
			paths = append(paths, field.JSONPath)
		}
		return paths
	}
	if gone := missing(paths(old), paths(next)); len(gone) > 0 {
		findings = append(findings, Finding{Rule: "selectableFields", Change: "selectableFields lost " + strings.Join(gone, ", "),
			Fix: "keep them: requests with these field selectors would fail"})
	}
	return findings
}

// missing returns the names that are only in the first list, sorted.
func missing(had, has []string) []string {
	gone := slices.DeleteFunc(slices.Clone(had), func(name string) bool { return slices.Contains(has, name) })
	slices.Sort(gone)
	return gone
}
