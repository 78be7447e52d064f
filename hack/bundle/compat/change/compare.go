// Package change finds changes of a CRD that would break objects, clients or upgrades of an older release. It is pure:
// CRDs and objects in, findings out.
//
// Schemas are compared with crdify, the library of OLM v1's preflight check: every change that OLM v1 refuses is a finding,
// also if it breaks no object. This package compares the other parts of a CRD itself. It replays on sample objects what
// OLM v0 checks before it replaces a CRD.
package change

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/crdify/pkg/validations"
)

// Finding is one incompatible change.
type Finding struct {
	// CRD is the name of the CRD, for example memcacheds.cache.example.com.
	CRD string
	// Version is the API version. It is empty if the change concerns the whole CRD.
	Version string
	// Path is the field, for example status.conditions[*].type, or empty for the object itself. [*] stands for every item
	// of a list and every value of a map.
	Path string
	// Rule names what was compared, for example minimum or served.
	Rule string
	// Change says what changed, Fix what to do about it.
	Change, Fix string
}

// String returns the finding in one line: where, what, and the fix.
func (f Finding) String() string {
	where := f.CRD
	if f.Version != "" {
		where += " " + f.Version
	}
	if f.Path != "" {
		where += " " + f.Path
	}
	return where + ": " + f.Change + "; " + f.Fix
}

// RuleGone is the rule of the finding that a CRD is missing in the newer release.
const RuleGone = "definition"

// Compare returns every incompatibility between the CRDs of two releases. CRDs that only the newer release has are
// compatible. It returns an error for CRDs that no API server would accept, which it cannot compare.
func Compare(older, newer []*apiextensionsv1.CustomResourceDefinition) ([]Finding, error) {
	var findings []Finding
	for _, old := range older {
		next := Find(newer, old.Name)
		if next == nil {
			findings = append(findings, Finding{CRD: old.Name, Rule: RuleGone,
				Change: "the CRD is no longer part of the bundle",
				Fix:    "put it back: objects of users would have no operator"})
			continue
		}
		more, err := compareCRD(old, next)
		if err != nil {
			return nil, err
		}
		findings = append(findings, more...)
	}
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.CRD, b.CRD), strings.Compare(a.Version, b.Version),
			strings.Compare(a.Path, b.Path), strings.Compare(a.Rule, b.Rule), strings.Compare(a.Change, b.Change))
	})
	return findings, nil
}

// Find returns the CRD of that name, or nil.
func Find(crds []*apiextensionsv1.CustomResourceDefinition, name string) *apiextensionsv1.CustomResourceDefinition {
	for _, crd := range crds {
		if crd.Name == name {
			return crd
		}
	}
	return nil
}

// compareCRD compares two CRDs of the same name.
func compareCRD(older, newer *apiextensionsv1.CustomResourceDefinition) ([]Finding, error) {
	old, err := withDefaults(older)
	if err != nil {
		return nil, err
	}
	next, err := withDefaults(newer)
	if err != nil {
		return nil, err
	}
	checks, err := checks()
	if err != nil {
		return nil, err
	}
	schemas := &judge{checks: checks}
	findings := slices.Concat(compareNames(old, next), compareVersions(old, next), schemas.compareServed(old, next))
	for i := range old.Spec.Versions {
		oldVersion := &old.Spec.Versions[i]
		newVersion := validations.GetCRDVersionByName(next, oldVersion.Name)
		if newVersion == nil {
			continue // compareVersions has reported it.
		}
		inVersion := append(compareSubresources(oldVersion, newVersion),
			schemas.compare(oldVersion.Schema.OpenAPIV3Schema, newVersion.Schema.OpenAPIV3Schema)...)
		for _, finding := range inVersion {
			finding.Version = oldVersion.Name
			findings = append(findings, finding)
		}
	}
	for i := range findings {
		findings[i].CRD = old.Name
	}
	return findings, nil
}

// withDefaults returns a copy with the defaults of the API server, so that an absent field equals its default.
func withDefaults(crd *apiextensionsv1.CustomResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error) {
	crd = crd.DeepCopy()
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)
	for _, v := range crd.Spec.Versions {
		if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			return nil, fmt.Errorf("%s %s has no schema: a CRD needs spec.versions[].schema.openAPIV3Schema", crd.Name, v.Name)
		}
	}
	return crd, nil
}
