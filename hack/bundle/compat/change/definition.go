package change

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// identity compares what holds for all versions of a definition: its names, its scope and how it converts.
func identity(old, next *apiextensionsv1.CustomResourceDefinition) []Finding {
	var findings []Finding
	changed := func(rule, was, is, mend string) {
		if was != is {
			findings = append(findings, Finding{Rule: rule, Change: fmt.Sprintf("%s changed from %s to %s", rule, was, is), Mend: mend})
		}
	}
	const keepName = "keep it: manifests, permissions and kubectl commands of users name it"
	was, is := old.Spec.Names, next.Spec.Names
	changed("group", old.Spec.Group, next.Spec.Group, keepName)
	changed("kind", was.Kind, is.Kind, keepName)
	changed("listKind", was.ListKind, is.ListKind, keepName)
	changed("plural", was.Plural, is.Plural, keepName)
	changed("singular", was.Singular, is.Singular, keepName)
	changed("scope", string(old.Spec.Scope), string(next.Spec.Scope),
		"keep it: the API server refuses the change, and existing objects would be lost")
	changed("conversion", string(old.Spec.Conversion.Strategy), string(next.Spec.Conversion.Strategy),
		"keep the strategy and identical schemas: OLM starts a conversion webhook only after it has replaced the definition")
	for rule, names := range map[string][2][]string{"shortNames": {was.ShortNames, is.ShortNames}, "categories": {was.Categories, is.Categories}} {
		if gone := missing(names[0], names[1]); len(gone) > 0 {
			findings = append(findings, Finding{Rule: rule, Change: rule + " lost " + strings.Join(gone, ", "), Mend: keepName})
		}
	}
	return findings
}

// versions compares which versions there are, which are served and which one is stored.
func versions(old, next *apiextensionsv1.CustomResourceDefinition) []Finding {
	var findings []Finding
	for _, was := range old.Spec.Versions {
		is := version(next, was.Name)
		switch {
		case is == nil && was.Storage:
			findings = append(findings, Finding{Version: was.Name, Rule: "storage",
				Change: "the version that objects are stored in was removed",
				Mend:   "keep it served beside the new one: OLM stops the upgrade while status.storedVersions names it"})
		case is == nil:
			findings = append(findings, Finding{Version: was.Name, Rule: "version", Change: "the version was removed",
				Mend: "keep it, marked deprecated: manifests of users ask for it"})
		case was.Served && !is.Served:
			findings = append(findings, Finding{Version: was.Name, Rule: "served", Change: "the version is no longer served",
				Mend: "serve it, marked deprecated: manifests and the previous operator, which works until it is replaced, ask for it"})
		}
	}
	return findings
}

// subresources compares what one version offers beside the object itself.
func subresources(old, next *apiextensionsv1.CustomResourceDefinitionVersion) []Finding {
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
			Mend: "keep subresources.status: operators write the status through it"})
	}
	switch {
	case was.Scale != nil && is.Scale == nil:
		findings = append(findings, Finding{Rule: "scale", Change: "the scale subresource was removed",
			Mend: "keep subresources.scale: `kubectl scale` and autoscalers use it"})
	case was.Scale != nil && !equality.Semantic.DeepEqual(was.Scale, is.Scale):
		findings = append(findings, Finding{Rule: "scale", Change: "the paths of the scale subresource changed",
			Mend: "keep them: autoscalers would read and write other fields than before"})
	}
	var had, has []string
	for _, f := range old.SelectableFields {
		had = append(had, f.JSONPath)
	}
	for _, f := range next.SelectableFields {
		has = append(has, f.JSONPath)
	}
	if gone := missing(had, has); len(gone) > 0 {
		findings = append(findings, Finding{Rule: "selectableFields", Change: "selectableFields lost " + strings.Join(gone, ", "),
			Mend: "keep them: requests with such a field selector would fail"})
	}
	return findings
}

// missing returns the names that only the first list has, sorted.
func missing(had, has []string) []string {
	var gone []string
	for _, name := range had {
		if !slices.Contains(has, name) {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	return gone
}
