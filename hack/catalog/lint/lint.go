// Package lint judges an upgrade graph: whether whoever has any release of it installed gets to the newest one, under
// both generations of OLM, and whether an entry says something that OLM takes otherwise than it was meant. It finds
// every violation, not only the first, and says of each how to mend it.
//
// It is pure: a graph goes in, violations come out. How OLM walks a graph is settled in the package graph.
//
// Whether an entry can be installed by startingCSV is no rule of its own. With a startingCSV and nothing installed,
// OLM v0.46 filters the catalog by that name before it orders the channel (getSubscriptionVariables in resolver.go),
// so an entry that another one skips can be installed all the same. What cannot be are a bundle with the property
// olm.deprecated and an entry that replaces or skips itself: OLMProperty and Backwards name those.
package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/example/memcached-operator/hack/catalog/graph"
)

// Rule names what a graph must not do.
type Rule string

// The rules. A violation of any is a reason not to serve the catalog.
const (
	// TwoHeads: more than one entry is neither replaced nor skipped. OLM v0 then resolves nothing in the channel.
	TwoHeads Rule = "two-heads"
	// V0DeadEnd: OLM v0 does not get from the entry to the channel's head.
	V0DeadEnd Rule = "v0-dead-end"
	// V1DeadEnd: OLM v1 does not get from the entry to the channel's highest version.
	V1DeadEnd Rule = "v1-dead-end"
	// Switch: who comes from another channel with a release that this one lacks does not get to the head.
	Switch Rule = "switch"
	// Backwards: an edge leads to the same version or a lower one.
	Backwards Rule = "backwards"
	// Overlap: an entry both replaces and skips a release. It takes the release, and what is reached through it, off
	// the chain that OLM v0 chooses from.
	Overlap Rule = "replaces-and-skips"
	// UnknownName: replaces, skips or the list of barriers names no bundle of the catalog.
	UnknownName Rule = "unknown-name"
	// Unreadable: OLM cannot read the skipRange and ignores it.
	Unreadable Rule = "skiprange-unreadable"
	// SelfRange: the skipRange holds the entry's own version, so that OLM v0 upgrades it to itself.
	SelfRange Rule = "skiprange-self"
	// Unbounded: the skipRange has no lower end, or holds versions above the entry's own.
	Unbounded Rule = "skiprange-unbounded"
	// Prunes: an entry has a skipRange and replaces nothing though there are older ones. A skipRange is no link of the
	// chain, so that it ends there.
	Prunes Rule = "skiprange-prunes"
	// NoSuccessor: what is deprecated has nothing to move to.
	NoSuccessor Rule = "deprecated-without-successor"
	// OLMProperty: a bundle has the property olm.deprecated, for which OLM v0 refuses to install it.
	OLMProperty Rule = "deprecated-property"
	// PassesBarrier: an edge leads from below a barrier release to above it.
	PassesBarrier Rule = "barrier"
	// WrongName: a release is not called <package>.v<version>.
	WrongName Rule = "name-version"
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

// Graph returns all violations, by channel and then by rule in the order of its checks; none for a good graph.
func Graph(g *graph.Graph) []Violation {
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
	*graph.Channel
	graph *graph.Graph
}

// goal is where an edge from a release should lead: to the highest entry, or to the first barrier on the way there.
func (c channel) goal(from *graph.Release) *graph.Entry {
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
func (c channel) addEdge(from *graph.Release) string {
	goal := c.goal(from)
	skipped := slices.ContainsFunc(c.Entries, func(e *graph.Entry) bool { return slices.Contains(e.Skips, goal.Name) })
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
func releases(g *graph.Graph) []Violation {
	var found []Violation
	for _, release := range g.Releases {
		if want := g.Package + ".v" + release.Version.String(); release.Name != want {
			found = append(found, Violation{
				Rule: WrongName, Entry: release.Name,
				Wrong: fmt.Sprintf("its version is %s", release.Version),
				Mend:  fmt.Sprintf("call it %s, or mend the version in its olm.package property", want),
			})
		}
		if release.Refused {
			found = append(found, Violation{
				Rule: OLMProperty, Entry: release.Name,
				Wrong: "its bundle has the property olm.deprecated, so OLM v0 refuses to install it",
				Mend:  "take the property away, and deprecate it in olm.deprecations",
			})
		}
	}
	for _, barrier := range g.Barriers {
		if barrier.Release == nil {
			found = append(found, Violation{
				Rule: UnknownName, Entry: barrier.Name,
				Wrong: graph.BarrierSchema + " names it, but there is no bundle of that name",
				Mend:  "name a release of the catalog",
			})
		}
	}
	return found
}
