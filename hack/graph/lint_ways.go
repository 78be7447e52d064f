package graph

import (
	"fmt"
	"strings"
)

func heads(c channel) []Violation {
	all := c.Heads()
	if len(all) < 2 {
		return nil // Without any there is a cycle: Backwards.
	}
	var found []Violation
	highest := c.Highest()
	for _, head := range all {
		if head == highest {
			continue
		}
		found = append(found, Violation{
			Rule: RuleTwoHeads, Entry: head.Name,
			Wrong: fmt.Sprintf("it is a second head beside %s: nothing replaces or skips it, so OLM v0 resolves nothing in this channel", highest.Name),
			// A skipRange may be an edge already, but only replaces and skips make it no head.
			Mend: fmt.Sprintf("add %s to the skips of %s", head.Name, c.goal(head.Release).Name),
		})
	}
	return found
}

// way is how one generation of OLM goes on in a channel, and where to.
type way struct {
	olm  string
	step Step
	goal *Entry
	rule Rule
	why  string
}

// ways are the ones to walk. Where OLM v0 has no chain to walk on, TwoHeads or Backwards says so; where the highest
// entry is deprecated, NoSuccessor does, and OLM v1 has nothing to lead to.
func (c channel) ways() []way {
	var found []way
	if v0, err := c.V0(); err == nil {
		found = append(found, way{
			olm: "v0", step: v0, goal: c.Heads()[0], rule: RuleV0DeadEnd,
			why: "no entry has an edge from there that OLM v0 sees, as it leaves out what another entry skips",
		})
	}
	if highest := c.Highest(); highest.Deprecated == "" {
		found = append(found, way{
			olm: "v1", step: c.V1(), goal: highest, rule: RuleV1DeadEnd,
			why: "no entry has an edge from there that OLM v1 follows, as it goes to nothing deprecated",
		})
	}
	return found
}

// deadEnds walks from every entry, as each generation of OLM does.
func deadEnds(c channel) []Violation {
	var found []Violation
	for _, way := range c.ways() {
		for _, entry := range c.Entries {
			end := Walk(entry.Release, way.goal.Release, way.step)
			if end == way.goal.Name {
				continue
			}
			stays := "it stays"
			if end != entry.Name {
				stays = "an upgrade from it ends"
			}
			found = append(found, Violation{
				Rule: way.rule, Entry: entry.Name,
				Wrong: fmt.Sprintf("%s at %s and never gets to %s: %s", stays, end, way.goal.Name, way.why),
				Mend:  c.addEdge(c.graph.Release(end)),
			})
		}
	}
	return found
}

// switches walks from every older release that only other channels have: somebody who has it may switch to this one.
// Whoever comes with a newer release stays where he is until this channel has caught up.
func switches(c channel) []Violation {
	var found []Violation
	for _, release := range c.graph.Releases {
		if c.Entry(release.Name) != nil || release.Version.GT(c.Highest().Version) {
			continue
		}
		var stuck []string
		for _, way := range c.ways() {
			if Walk(release, way.goal.Release, way.step) != way.goal.Name {
				stuck = append(stuck, way.olm)
			}
		}
		if len(stuck) > 0 {
			found = append(found, Violation{
				Rule: RuleSwitch, Entry: release.Name,
				Wrong: fmt.Sprintf("only %s has it, and who switches from there to this channel is stuck under OLM %s",
					strings.Join(having(c.graph, release), " and "), strings.Join(stuck, " and ")),
				Mend: c.addEdge(release),
			})
		}
	}
	return found
}

// having names the channels that have the release.
func having(g *Graph, release *Release) []string {
	var found []string
	for _, c := range g.Channels {
		if c.Entry(release.Name) != nil {
			found = append(found, c.Name)
		}
	}
	return found
}

// successors looks for what users of something deprecated are to move to: above a release, or beside a channel. A
// deprecated package has reached its end, and needs none.
func successors(c channel) []Violation {
	if c.graph.Deprecated != "" {
		return nil
	}
	var found []Violation
	highest := c.Highest()
	if highest.Deprecated != "" {
		found = append(found, Violation{
			Rule: RuleNoSuccessor, Entry: highest.Name,
			Wrong: "it is deprecated, but the highest version of the channel",
			Mend:  "release a successor into the channel first, or deprecate the channel as well and leave the release out of olm.deprecations",
		})
	}
	if c.Deprecated == "" {
		return found
	}
	if c.Name == c.graph.DefaultChannel {
		found = append(found, Violation{
			Rule: RuleNoSuccessor, Wrong: "it is deprecated, but the package's default channel", Mend: "make another one the default",
		})
	}
	for _, other := range c.graph.Channels {
		if other.Deprecated == "" && !other.Highest().Version.LT(highest.Version) {
			return found // How to get there is for Switch to say.
		}
	}
	return append(found, Violation{
		Rule:  RuleNoSuccessor,
		Wrong: fmt.Sprintf("it is deprecated, and no channel that is not has %s or a newer release to switch to", highest.Name),
		Mend:  "release it into another channel first",
	})
}
