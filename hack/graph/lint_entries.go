package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
)

// named are the releases that the entry replaces or skips, each once.
func named(entry *Entry) []string {
	all := append([]string{entry.Replaces}, entry.Skips...)
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(name string) bool { return name == "" })
}

// names finds edges from something that does not exist.
func names(c channel) []Violation {
	var found []Violation
	for _, entry := range c.Entries {
		for _, name := range named(entry) {
			if c.graph.Release(name) != nil {
				continue
			}
			found = append(found, Violation{
				Rule: RuleUnknownName, Entry: entry.Name,
				Wrong: fmt.Sprintf("it names %s, but there is no bundle of that name", name),
				Mend:  "name a release of the catalog, or none",
			})
		}
	}
	return found
}

// backwards finds edges that do not lead to a higher version. Any cycle has one.
func backwards(c channel) []Violation {
	var found []Violation
	for _, entry := range c.Entries {
		for _, name := range named(entry) {
			if from := c.graph.Release(name); from != nil && !entry.Version.GT(from.Version) {
				found = append(found, Violation{
					Rule: RuleBackwards, Entry: entry.Name,
					Wrong: fmt.Sprintf("its edge from %s does not lead to a higher version", name),
					Mend:  fmt.Sprintf("take %s out of its replaces and skips", name),
				})
			}
		}
	}
	return found
}

func overlaps(c channel) []Violation {
	var found []Violation
	for _, entry := range c.Entries {
		if entry.Replaces != "" && slices.Contains(entry.Skips, entry.Replaces) {
			found = append(found, Violation{
				Rule: RuleOverlap, Entry: entry.Name,
				Wrong: fmt.Sprintf("it both replaces and skips %[1]s, so that OLM v0 takes %[1]s, and all edges to it, out of the channel", entry.Replaces),
				Mend:  fmt.Sprintf("take %s out of its skips", entry.Replaces),
			})
		}
	}
	return found
}

func ranges(c channel) []Violation {
	var found []Violation
	for _, entry := range c.Entries {
		within := entry.SkipRange
		if within.String() == "" {
			continue
		}
		add := func(rule Rule, wrong, mend string) {
			found = append(found, Violation{Rule: rule, Entry: entry.Name, Wrong: fmt.Sprintf("its skipRange %q %s", within, wrong), Mend: mend})
		}
		upTo := fmt.Sprintf("end it with <%s", entry.Version)
		switch {
		case !within.Readable():
			add(RuleUnreadable, "cannot be read, and OLM ignores it", "write it like '>=0.1.0 <0.3.0'")
		case within.HoldsAbove(entry.Version):
			add(RuleUnbounded, "holds versions above its own, which OLM v0 takes back to it", upTo)
		case within.Holds(entry.Version):
			add(RuleSelfRange, "holds its own version, so that OLM v0 upgrades it to itself", upTo)
		}
		if !within.HasLowerEnd() {
			add(RuleUnbounded, "has no lower end", "begin it with >= and the oldest release that was tested")
		}
		if older := c.below(entry); entry.Replaces == "" && older != nil {
			add(RulePrunes, fmt.Sprintf("is no link of the chain, and it replaces nothing: the chain ends before %s", older.Name), "add replaces: "+older.Name)
		}
	}
	return found
}

// below is the entry with the highest version below the given one's, nil when there is none.
func (c channel) below(entry *Entry) *Entry {
	var found *Entry
	for _, other := range c.Entries {
		if other.Version.LT(entry.Version) && (found == nil || other.Version.GT(found.Version)) {
			found = other
		}
	}
	return found
}

// barriers finds edges of any kind that pass over a barrier release, in a channel that has it or not. OLM v1 follows
// an edge that v0 has taken off its chain, so every edge counts.
func barriers(c channel) []Violation {
	var found []Violation
	for _, entry := range c.Entries {
		for _, barrier := range c.graph.Barriers {
			if barrier.Release == nil || !entry.Version.GT(barrier.Release.Version) {
				continue
			}
			if edges := edgesFromBelow(c.graph, entry, barrier.Release.Version); len(edges) > 0 {
				found = append(found, Violation{
					Rule: RulePassesBarrier, Entry: entry.Name,
					Wrong: fmt.Sprintf("it passes over the barrier release %s (%s) by %s", barrier.Name, barrier.Reason, strings.Join(edges, ", ")),
					Mend:  fmt.Sprintf("have edges from %s on only, and edges to it from what is older", barrier.Name),
				})
			}
		}
	}
	return found
}

func edgesFromBelow(g *Graph, entry *Entry, barrier semver.Version) []string {
	var edges []string
	for _, release := range g.Releases {
		if kind := entry.Edge(release); kind != "" && release.Version.LT(barrier) {
			edges = append(edges, string(kind)+" "+release.Name)
		}
	}
	return edges
}
