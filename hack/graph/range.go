package graph

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/blang/semver/v4"
)

// Range is a skipRange: the versions from which an entry has an edge. The zero value holds none.
type Range struct {
	text  string
	holds semver.Range
}

// ParseRange parses a skipRange with the library that both generations of OLM use. An invalid range, which OLM ignores,
// holds no version.
func ParseRange(text string) Range {
	holds, _ := semver.ParseRange(text) // nil if the range is invalid
	return Range{text: text, holds: holds}
}

// String returns the range as it was written.
func (r Range) String() string { return r.text }

// Valid reports whether OLM can parse the range. An empty range is valid.
func (r Range) Valid() bool { return r.text == "" || r.holds != nil }

// Holds reports whether the version is in the range.
func (r Range) Holds(version semver.Version) bool { return r.holds != nil && r.holds(version) }

// HasLowerEnd reports whether some version is below all versions in the range.
func (r Range) HasLowerEnd() bool { return !r.Holds(lowest) }

// HoldsAbove reports whether the range holds any version greater than the given one, released or not. A range is a union
// of intervals between the versions in its text, so it is enough to try the first version of each interval.
func (r Range) HoldsAbove(version semver.Version) bool {
	probes := []semver.Version{after(version)}
	for _, end := range ends(r.text) {
		probes = append(probes, end, after(end))
	}
	return slices.ContainsFunc(probes, func(probe semver.Version) bool { return probe.GT(version) && r.Holds(probe) })
}

var (
	// lowest is the lowest version: the lowest prerelease of 0.0.0.
	lowest = semver.Version{Pre: []semver.PRVersion{{IsNum: true}}}
	// written matches the versions in a range, also with a prerelease, with wildcards, or shortened.
	written = regexp.MustCompile(`(\d+)(?:\.(\d+|[xX*]))?(?:\.(\d+|[xX*]))?(?:-([0-9A-Za-z.-]+))?`)
)

// after returns the lowest version greater than the given one.
func after(version semver.Version) semver.Version {
	zero := semver.PRVersion{IsNum: true}
	if len(version.Pre) > 0 {
		return semver.Version{Major: version.Major, Minor: version.Minor, Patch: version.Patch, Pre: append(slices.Clone(version.Pre), zero)}
	}
	return semver.Version{Major: version.Major, Minor: version.Minor, Patch: version.Patch + 1, Pre: []semver.PRVersion{zero}}
}

// ends returns the versions at which an interval of the range may begin or end. A wildcard has two: 1.x begins at 1.0.0
// and ends at 2.0.0.
func ends(text string) []semver.Version {
	var found []semver.Version
	for _, match := range written.FindAllStringSubmatch(text, -1) {
		var end semver.Version
		known := 0
		for _, number := range []*uint64{&end.Major, &end.Minor, &end.Patch} {
			var err error
			if *number, err = strconv.ParseUint(match[known+1], 10, 64); err != nil {
				break
			}
			known++
		}
		if match[4] != "" {
			for part := range strings.SplitSeq(match[4], ".") {
				if pre, err := semver.NewPRVersion(part); err == nil {
					end.Pre = append(end.Pre, pre)
				}
			}
		}
		found = append(found, end)
		switch known {
		case 1:
			found = append(found, semver.Version{Major: end.Major + 1})
		case 2:
			found = append(found, semver.Version{Major: end.Major, Minor: end.Minor + 1})
		}
	}
	return found
}
