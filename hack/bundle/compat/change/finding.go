// Package change lists what in the definitions (CRDs) of a newer release would break objects, clients or upgrades of an
// older one. It is pure: definitions in, findings out.
//
// The judgement of most schema keywords is that of crdify, the library behind OLM v1's preflight check. The keywords
// and the parts of a definition that crdify does not know are judged here, and at the end OLM v1's preflight is run as
// OLM v1 runs it, so that nothing it would refuse goes unnoticed. What OLM v0 does with existing objects lives in
// package replay.
package change

import (
	"cmp"
	"slices"
	"strings"
)

// Finding is one incompatible change.
type Finding struct {
	// Definition is the name of the CRD, for example memcacheds.cache.example.com.
	Definition string
	// Version is the API version, empty when the change concerns the whole definition.
	Version string
	// Path is the field, for example status.conditions[*].type; empty for the object itself. [*] stands for every
	// item of a list and every value of a map.
	Path string
	// Rule names what was looked at, for example minimum or served.
	Rule string
	// Change says what changed, Mend what to do about it.
	Change, Mend string
}

// String is the finding as one line: where, what, and the mend.
func (f Finding) String() string {
	where := f.Definition
	if f.Version != "" {
		where += " " + f.Version
	}
	if f.Path != "" {
		where += " " + f.Path
	}
	return where + ": " + f.Change + "; " + f.Mend
}

// sorted brings findings into the order in which they are printed: by definition, version, path and rule.
func sorted(findings []Finding) []Finding {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Definition, b.Definition), strings.Compare(a.Version, b.Version),
			strings.Compare(a.Path, b.Path), strings.Compare(a.Rule, b.Rule), strings.Compare(a.Change, b.Change))
	})
	return findings
}
