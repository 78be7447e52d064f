package graph

import (
	"fmt"
	"slices"
	"strings"
)

// Rule names a rule that a graph must not break. A catalog that breaks one is not served.
type Rule string

// There is no rule about startingCSV. With a startingCSV and nothing installed, OLM v0.46 filters the catalog by that name
// before it orders the channel (getSubscriptionVariables in resolver.go), so it can install an entry that another one
// skips. It cannot install bundles with the property olm.deprecated and entries that replace or skip themselves, which
// RuleOLMProperty and RuleBackwards report.
const (
	// RuleTwoHeads: several entries are neither replaced nor skipped, so OLM v0 resolves nothing in the channel.
	RuleTwoHeads Rule = "two-heads"
	// RuleV0DeadEnd: OLM v0 does not reach the channel's head from the entry.
	RuleV0DeadEnd Rule = "v0-dead-end"
	// RuleV1DeadEnd: OLM v1 does not reach the highest version from the entry: that of the channel or, without a channel, that of
	// the package.
	RuleV1DeadEnd Rule = "v1-dead-end"
	// RuleSwitch: OLM does not reach the channel's head from a release that only another channel has.
	RuleSwitch Rule = "switch"
	// RuleBackwards: an edge leads to the same version or a lower one.
	RuleBackwards Rule = "backwards"
	// RuleOverlap: an entry both replaces and skips a release. That removes the release, and what is reached through it,
	// from the chain of OLM v0.
	RuleOverlap Rule = "replaces-and-skips"
	// RuleUnknownName: replaces, skips or the list of barriers names no bundle of the catalog.
	RuleUnknownName Rule = "unknown-name"
	// RuleInvalidRange: OLM cannot parse the skipRange and ignores it.
	RuleInvalidRange Rule = "skiprange-unreadable"
	// RuleSelfRange: the skipRange holds the entry's own version, so OLM v0 upgrades the entry to itself.
	RuleSelfRange Rule = "skiprange-self"
	// RuleUnbounded: the skipRange has no lower end, or holds versions above the entry's own.
	RuleUnbounded Rule = "skiprange-unbounded"
	// RuleAnnotation: the skipRange is not the one in the annotation olm.skipRange of the ClusterServiceVersion, which tools
	// read that make a catalog of bundles.
	RuleAnnotation Rule = "skiprange-annotation"
	// RulePrunes: an entry with a skipRange replaces nothing although there are older entries. A skipRange is no link of
	// the chain, so the chain ends there.
	RulePrunes Rule = "skiprange-prunes"
	// RuleNoSuccessor: something is deprecated and has no successor.
	RuleNoSuccessor Rule = "deprecated-without-successor"
	// RuleOLMProperty: a bundle has the property olm.deprecated, so OLM v0 refuses to install it.
	RuleOLMProperty Rule = "deprecated-property"
	// RulePassesBarrier: an edge leads from below a barrier to above it.
	RulePassesBarrier Rule = "barrier"
	// RuleWrongName: a release is not called <package>.v<version>.
	RuleWrongName Rule = "name-version"
)

// Violation is a place where a graph breaks a rule.
type Violation struct {
	Rule Rule
	// Channel and Entry say where. They are empty if the violation concerns the whole package.
	Channel, Entry string
	// Problem says what is wrong, Fix what to write instead.
	Problem, Fix string
}

// String returns the violation in one line.
func (v Violation) String() string {
	var where []string
	if v.Channel != "" {
		where = append(where, "channel "+v.Channel)
	}
	if v.Entry != "" {
		where = append(where, "entry "+v.Entry)
	}
	if len(where) == 0 {
		where = []string{"package"}
	}
	return fmt.Sprintf("%s: %s [%s]; %s", strings.Join(where, ", "), v.Problem, v.Rule, v.Fix)
}

// Lint returns all violations: those of releases, those of channels, by channel and in the order of the checks, and those of
// upgrades without a channel.
func (g *Graph) Lint() []Violation {
	found := g.lintReleases()
	for _, c := range g.Channels {
		for _, check := range []func() []Violation{
			c.lintHeads, c.lintNames, c.lintBackwards, c.lintOverlaps, c.lintRanges, c.lintAnnotations, c.lintBarriers, c.lintDeadEnds, c.lintSwitches, c.lintSuccessors,
		} {
			for _, v := range check() {
				v.Channel = c.Name
				found = append(found, v)
			}
		}
	}
	return append(found, g.lintWithoutChannel(found)...)
}

// lintReleases makes the checks that need no channel.
func (g *Graph) lintReleases() []Violation {
	var found []Violation
	for _, release := range g.Releases {
		if want := g.Package + ".v" + release.Version.String(); release.Name != want {
			found = append(found, Violation{
				Rule: RuleWrongName, Entry: release.Name,
				Problem: fmt.Sprintf("its version is %s", release.Version),
				Fix:     fmt.Sprintf("call it %s, or correct the version in its olm.package property", want),
			})
		}
		if release.Refused {
			found = append(found, Violation{
				Rule: RuleOLMProperty, Entry: release.Name,
				Problem: "its bundle has the property olm.deprecated, so OLM v0 refuses to install it",
				Fix:     "remove the property, and deprecate it in olm.deprecations",
			})
		}
	}
	for _, barrier := range g.Barriers {
		if barrier.Release == nil {
			found = append(found, Violation{
				Rule: RuleUnknownName, Entry: barrier.Name,
				Problem: BarrierSchema + " names it, but there is no bundle of that name",
				Fix:     "name a release of the catalog",
			})
		}
	}
	return found
}

// goal returns the entry that an edge from a release should lead to: the highest, or the first barrier before it.
func (c *Channel) goal(from *Release) *Entry {
	for _, barrier := range c.graph.Barriers {
		if barrier.Release == nil || !barrier.Release.Version.GT(from.Version) {
			continue
		}
		if entry := c.Entry(barrier.Name); entry != nil {
			return entry
		}
	}
	return c.Highest()
}

// addEdge says how to add an edge from a release that has no upgrade.
func (c *Channel) addEdge(from *Release) string {
	goal := c.goal(from)
	skipped := slices.ContainsFunc(c.Entries, func(e *Entry) bool { return slices.Contains(e.Skips, goal.Name) })
	switch {
	case goal.Name == from.Name:
		return "remove the edges that lead back from it"
	case skipped:
		return fmt.Sprintf("remove %s from the skips of every other entry", goal.Name)
	case goal.Edge(from) != "":
		return fmt.Sprintf("there is an edge, so let OLM install %s: it must be neither refused nor deprecated", goal.Name)
	default:
		return fmt.Sprintf("add %s to the skips of %s", from.Name, goal.Name)
	}
}
