// Package lint judges an upgrade graph: whether whoever has any release of it installed gets to the newest one, under
// both generations of OLM, and whether an entry says something that OLM takes otherwise than it was meant. It finds
// every violation, not only the first, and says of each how to mend it.
//
// It is pure: a graph goes in, violations come out. How OLM walks a graph is settled in the package graph.
//
// Whether an entry can be installed by startingCSV is no rule of its own. With a startingCSV and nothing installed,
// OLM v0.46 filters the catalog by that name before it orders the channel (getSubscriptionVariables in resolver.go),
// so an entry that another one skips can be installed all the same. What cannot be are a bundle with the property
// olm.deprecated and an entry that replaces or skips itself: OLMProperty and RuleBackwards name those.
package graph

import (
	"fmt"
	"slices"
	"strings"
)

// Rule names what a graph must not do.
type Rule string

// The rules. A violation of any is a reason not to serve the catalog.
const (
	// RuleTwoHeads: more than one entry is neither replaced nor skipped. OLM v0 then resolves nothing in the channel.
	RuleTwoHeads Rule = "two-heads"
	// RuleV0DeadEnd: OLM v0 does not get from the entry to the channel's head.
	RuleV0DeadEnd Rule = "v0-dead-end"
	// RuleV1DeadEnd: OLM v1 does not get from the entry to the channel's highest version.
	RuleV1DeadEnd Rule = "v1-dead-end"
	// RuleSwitch: who comes from another channel with a release that this one lacks does not get to the head.
	RuleSwitch Rule = "switch"
	// RuleBackwards: an edge leads to the same version or a lower one.
	RuleBackwards Rule = "backwards"
	// RuleOverlap: an entry both replaces and skips a release. It takes the release, and what is reached through it, off
	// the chain that OLM v0 chooses from.
	RuleOverlap Rule = "replaces-and-skips"
	// RuleUnknownName: replaces, skips or the list of barriers names no bundle of the catalog.
	RuleUnknownName Rule = "unknown-name"
	// RuleUnreadable: OLM cannot read the skipRange and ignores it.
	RuleUnreadable Rule = "skiprange-unreadable"
	// RuleSelfRange: the skipRange holds the entry's own version, so that OLM v0 upgrades it to itself.
	RuleSelfRange Rule = "skiprange-self"
	// RuleUnbounded: the skipRange has no lower end, or holds versions above the entry's own.
	RuleUnbounded Rule = "skiprange-unbounded"
	// RulePrunes: an entry has a skipRange and replaces nothing though there are older ones. A skipRange is no link of the
	// chain, so that it ends there.
	RulePrunes Rule = "skiprange-prunes"
	// RuleNoSuccessor: what is deprecated has nothing to move to.
	RuleNoSuccessor Rule = "deprecated-without-successor"
	// RuleOLMProperty: a bundle has the property olm.deprecated, for which OLM v0 refuses to install it.
	RuleOLMProperty Rule = "deprecated-property"
	// RulePassesBarrier: an edge leads from below a barrier release to above it.
	RulePassesBarrier Rule = "barrier"
	// RuleWrongName: a release is not called <package>.v<version>.
	RuleWrongName Rule = "name-version"
)

// Violation is one thing that is wrong with a graph.
type Violation struct {
	Rule Rule
	// Channel and Entry say where; both are empty for what concerns the whole package.
	Channel, Entry string
	// Wrong says what is wrong, Mend what to write instead.
	Wrong, Mend string
}

// String is the violation in one line.
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
	return fmt.Sprintf("%s: %s [%s]; %s", strings.Join(where, ", "), v.Wrong, v.Rule, v.Mend)
}

// Lint returns all violations, by channel and then by rule in the order of its checks; none for a good graph.
func Lint(g *Graph) []Violation {
	found := releases(g)
	for _, c := range g.Channels {
		in := channel{Channel: c, graph: g}
		for _, check := range []func(channel) []Violation{
			heads, names, backwards, overlaps, ranges, barriers, deadEnds, switches, successors,
		} {
			for _, v := range check(in) {
				v.Channel = c.Name
				found = append(found, v)
			}
		}
	}
	return found
}

// channel is a channel in its graph.
type channel struct {
	*Channel
	graph *Graph
}

// goal is where an edge from a release should lead: to the highest entry, or to the first barrier on the way there.
func (c channel) goal(from *Release) *Entry {
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

// addEdge says how to make an edge from a release on which OLM stays.
func (c channel) addEdge(from *Release) string {
	goal := c.goal(from)
	skipped := slices.ContainsFunc(c.Entries, func(e *Entry) bool { return slices.Contains(e.Skips, goal.Name) })
	switch {
	case goal.Name == from.Name:
		return "take away the edges that lead back from it"
	case skipped:
		return fmt.Sprintf("take %s out of the skips of every other entry", goal.Name)
	case goal.Edge(from) != "":
		return fmt.Sprintf("there is an edge, so let OLM install %s: it must be neither refused nor deprecated", goal.Name)
	default:
		return fmt.Sprintf("add %s to the skips of %s", from.Name, goal.Name)
	}
}

// releases are the checks that need no channel.
func releases(g *Graph) []Violation {
	var found []Violation
	for _, release := range g.Releases {
		if want := g.Package + ".v" + release.Version.String(); release.Name != want {
			found = append(found, Violation{
				Rule: RuleWrongName, Entry: release.Name,
				Wrong: fmt.Sprintf("its version is %s", release.Version),
				Mend:  fmt.Sprintf("call it %s, or mend the version in its olm.package property", want),
			})
		}
		if release.Refused {
			found = append(found, Violation{
				Rule: RuleOLMProperty, Entry: release.Name,
				Wrong: "its bundle has the property olm.deprecated, so OLM v0 refuses to install it",
				Mend:  "take the property away, and deprecate it in olm.deprecations",
			})
		}
	}
	for _, barrier := range g.Barriers {
		if barrier.Release == nil {
			found = append(found, Violation{
				Rule: RuleUnknownName, Entry: barrier.Name,
				Wrong: BarrierSchema + " names it, but there is no bundle of that name",
				Mend:  "name a release of the catalog",
			})
		}
	}
	return found
}
