package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
)

// predecessors returns the releases that the entry replaces or skips, each once.
func (e *Entry) predecessors() []string {
	all := append([]string{e.Replaces}, e.Skips...)
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(name string) bool { return name == "" })
}

// lintNames finds edges from releases that do not exist.
func (c *Channel) lintNames() []Violation {
	var found []Violation
	for _, entry := range c.Entries {
		for _, name := range entry.predecessors() {
			if c.graph.Release(name) == nil {
				found = append(found, Violation{
					Rule: RuleUnknownName, Entry: entry.Name,
					Problem: fmt.Sprintf("it names %s, but there is no bundle of that name", name),
					Fix:     "name a release of the catalog, or none",
				})
			}
		}
	}
	return found
}

// lintBackwards finds edges that do not lead to a higher version. Every cycle has one.
func (c *Channel) lintBackwards() []Violation {
	var found []Violation
	for _, entry := range c.Entries {
		for _, name := range entry.predecessors() {
			if from := c.graph.Release(name); from != nil && !entry.Version.GT(from.Version) {
				found = append(found, Violation{
					Rule: RuleBackwards, Entry: entry.Name,
					Problem: fmt.Sprintf("its edge from %s does not lead to a higher version", name),
					Fix:     fmt.Sprintf("remove %s from its replaces and skips", name),
				})
			}
		}
	}
	return found
}

func (c *Channel) lintOverlaps() []Violation {
	var found []Violation
	for _, entry := range c.Entries {
		if entry.Replaces != "" && slices.Contains(entry.Skips, entry.Replaces) {
			found = append(found, Violation{
				Rule: RuleOverlap, Entry: entry.Name,
				Problem: fmt.Sprintf("it both replaces and skips %[1]s, so OLM v0 removes %[1]s and all edges to it from the channel", entry.Replaces),
				Fix:     fmt.Sprintf("remove %s from its skips", entry.Replaces),
			})
		}
	}
	return found
}

func (c *Channel) lintRanges() []Violation {
	var found []Violation
	for _, entry := range c.Entries {
		skipRange := entry.SkipRange
		if skipRange.String() == "" {
			continue
		}
		add := func(rule Rule, problem, fix string) {
			found = append(found, Violation{Rule: rule, Entry: entry.Name, Problem: fmt.Sprintf("its skipRange %q %s", skipRange, problem), Fix: fix})
		}
		upTo := fmt.Sprintf("end it with <%s", entry.Version)
		switch {
		case !skipRange.Valid():
			add(RuleInvalidRange, "cannot be parsed, so OLM ignores it", "write it like '>=0.1.0 <0.3.0'")
		case skipRange.HoldsAbove(entry.Version):
			add(RuleUnbounded, "holds versions above its own, from which OLM v0 goes back to it", upTo)
		case skipRange.Holds(entry.Version):
			add(RuleSelfRange, "holds its own version, so OLM v0 upgrades it to itself", upTo)
		}
		if !skipRange.HasLowerEnd() {
			add(RuleUnbounded, "has no lower end", "begin it with >= and the oldest release that was tested")
		}
		if older := c.below(entry); entry.Replaces == "" && older != nil {
			add(RulePrunes, fmt.Sprintf("is no link of the chain, and it replaces nothing, so the chain ends before %s", older.Name), "add replaces: "+older.Name)
		}
	}
	return found
}

// firstAnnotated is the first release whose bundle has the annotation. Bundles of older ones are frozen without it.
var firstAnnotated = semver.MustParse("0.4.0")

// lintAnnotations finds entries whose skipRange differs from the one in the ClusterServiceVersion.
func (c *Channel) lintAnnotations() []Violation {
	var found []Violation
	for _, entry := range c.Entries {
		if entry.Annotated == nil || entry.Version.LT(firstAnnotated) || *entry.Annotated == entry.SkipRange.String() {
			continue
		}
		found = append(found, Violation{
			Rule: RuleAnnotation, Entry: entry.Name,
			Problem: fmt.Sprintf("its skipRange is %q, and the annotation olm.skipRange of its ClusterServiceVersion is %q", entry.SkipRange, *entry.Annotated),
			Fix:     "write the skipRange of the annotation; before the release, change both in hack/project/project.go",
		})
	}
	return found
}

// below returns the entry with the highest version below that of the given one, or nil.
func (c *Channel) below(entry *Entry) *Entry {
	var found *Entry
	for _, other := range c.Entries {
		if other.Version.LT(entry.Version) && (found == nil || other.Version.GT(found.Version)) {
			found = other
		}
	}
	return found
}

// lintBarriers finds edges of any kind that skip a barrier, also in channels without it. OLM v1 follows edges that are not
// in the chain of OLM v0, so every edge counts.
func (c *Channel) lintBarriers() []Violation {
	var found []Violation
	for _, entry := range c.Entries {
		for _, barrier := range c.graph.Barriers {
			if barrier.Release == nil || !entry.Version.GT(barrier.Release.Version) {
				continue
			}
			var edges []string
			for _, release := range c.graph.Releases {
				if kind := entry.Edge(release); kind != "" && release.Version.LT(barrier.Release.Version) {
					edges = append(edges, string(kind)+" "+release.Name)
				}
			}
			if len(edges) > 0 {
				found = append(found, Violation{
					Rule: RulePassesBarrier, Entry: entry.Name,
					Problem: fmt.Sprintf("it skips the barrier %s (%s) by %s", barrier.Name, barrier.Reason, strings.Join(edges, ", ")),
					Fix:     fmt.Sprintf("let its edges start at %s or newer releases, and edges from older releases lead to %s", barrier.Name, barrier.Name),
				})
			}
		}
	}
	return found
}
