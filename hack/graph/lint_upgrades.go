package graph

import (
	"fmt"
	"slices"
	"strings"
)

func (c *Channel) lintHeads() []Violation {
	heads := c.Heads()
	if len(heads) < 2 {
		return nil // If there is none, there is a cycle, which lintBackwards reports.
	}
	var found []Violation
	highest := c.Highest()
	for _, head := range heads {
		if head == highest {
			continue
		}
		found = append(found, Violation{
			Rule: RuleTwoHeads, Entry: head.Name,
			Problem: fmt.Sprintf("it is a second head beside %s: nothing replaces or skips it, so OLM v0 resolves nothing in this channel", highest.Name),
			// An edge by skipRange is not enough: only replaces and skips decide what is a head.
			Fix: fmt.Sprintf("add %s to the skips of %s", head.Name, c.goal(head.Release).Name),
		})
	}
	return found
}

// upgradePath is how one generation of OLM upgrades in a channel, and the entry that it should reach.
type upgradePath struct {
	olm  string
	step Step
	goal *Entry
	rule Rule
	why  string
}

// upgradePaths returns the paths to check. It leaves out OLM v0 if the channel has no chain, which RuleTwoHeads or
// RuleBackwards reports, and OLM v1 if the highest entry is deprecated, which RuleNoSuccessor reports, unless the whole package is
// deprecated.
func (c *Channel) upgradePaths() []upgradePath {
	var found []upgradePath
	if v0, err := c.V0(); err == nil {
		found = append(found, upgradePath{
			olm: "v0", step: v0, goal: c.Heads()[0], rule: RuleV0DeadEnd,
			why: "OLM v0 sees no edge from there, because it leaves out entries that another one skips",
		})
	}
	if highest := c.Highest(); highest.Deprecated == "" {
		found = append(found, upgradePath{
			olm: "v1", step: c.V1(), goal: highest, rule: RuleV1DeadEnd,
			why: "OLM v1 follows no edge from there, because it upgrades to no deprecated entry",
		})
	}
	return found
}

// lintDeadEnds upgrades from every entry, as each generation of OLM does.
func (c *Channel) lintDeadEnds() []Violation {
	var found []Violation
	for _, path := range c.upgradePaths() {
		for _, entry := range c.Entries {
			if end := Walk(entry.Release, path.goal.Release, path.step); end != path.goal.Name {
				found = append(found, c.deadEnd(entry.Release, end, path))
			}
		}
	}
	return found
}

// deadEnd describes a release from which upgrades end before the goal, which is an entry of the channel.
func (c *Channel) deadEnd(release *Release, end string, path upgradePath) Violation {
	stays := "it stays"
	if end != release.Name {
		stays = "an upgrade from it ends"
	}
	return Violation{
		Rule: path.rule, Entry: release.Name,
		Problem: fmt.Sprintf("%s at %s and never reaches %s: %s", stays, end, path.goal.Name, path.why),
		Fix:     c.addEdge(c.graph.Release(end)),
	}
}

// lintWithoutChannel upgrades from every release as OLM v1 does for a ClusterExtension that names no channel. This can end
// early although every channel is in order: from a release of one channel, the only edge may lead to a deprecated release of
// another. It leaves out the releases that the channels have reported.
func (g *Graph) lintWithoutChannel(reported []Violation) []Violation {
	if len(g.Channels) == 0 {
		return nil
	}
	highest := slices.MaxFunc(g.Channels, func(a, b *Channel) int { return a.Highest().Version.Compare(b.Highest().Version) })
	path := upgradePath{
		step: g.V1(), goal: highest.Highest(), rule: RuleV1DeadEnd,
		why: "for a ClusterExtension that names no channel, OLM v1 follows no edge from there, because it upgrades to no deprecated entry",
	}
	if path.goal.Deprecated != "" {
		return nil // RuleNoSuccessor reports it, unless the whole package is deprecated: then no upgrade is expected.
	}
	var found []Violation
	for _, release := range g.Releases {
		known := slices.ContainsFunc(reported, func(v Violation) bool {
			return v.Entry == release.Name && (v.Rule == RuleV1DeadEnd || v.Rule == RuleSwitch)
		})
		if end := Walk(release, path.goal.Release, path.step); end != path.goal.Name && !known {
			found = append(found, highest.deadEnd(release, end, path))
		}
	}
	return found
}

// lintSwitches upgrades from every older release that only other channels have, because its users may switch to this
// channel. Users of a newer release keep it until this channel has caught up.
func (c *Channel) lintSwitches() []Violation {
	var found []Violation
	for _, release := range c.graph.Releases {
		if c.Entry(release.Name) != nil || release.Version.GT(c.Highest().Version) {
			continue
		}
		var stuck, others []string
		for _, path := range c.upgradePaths() {
			if Walk(release, path.goal.Release, path.step) != path.goal.Name {
				stuck = append(stuck, path.olm)
			}
		}
		for _, other := range c.graph.Channels {
			if other.Entry(release.Name) != nil {
				others = append(others, other.Name)
			}
		}
		if len(stuck) > 0 {
			found = append(found, Violation{
				Rule: RuleSwitch, Entry: release.Name,
				Problem: fmt.Sprintf("only %s has it, and it has no upgrade after a switch to this channel under OLM %s",
					strings.Join(others, " and "), strings.Join(stuck, " and ")),
				Fix: c.addEdge(release),
			})
		}
	}
	return found
}

// lintSuccessors checks that users of something deprecated have a successor: a higher release, or another channel. A
// deprecated package needs none.
func (c *Channel) lintSuccessors() []Violation {
	if c.graph.Deprecated != "" {
		return nil
	}
	var found []Violation
	highest := c.Highest()
	if highest.Deprecated != "" {
		found = append(found, Violation{
			Rule: RuleNoSuccessor, Entry: highest.Name,
			Problem: "it is deprecated, but the highest version of the channel",
			Fix:     "release a successor into the channel first, or deprecate the channel instead of the release",
		})
	}
	if c.Deprecated == "" {
		return found
	}
	if c.Name == c.graph.DefaultChannel {
		found = append(found, Violation{
			Rule: RuleNoSuccessor, Problem: "it is deprecated, but the package's default channel", Fix: "make another channel the default",
		})
	}
	for _, other := range c.graph.Channels {
		if other.Deprecated == "" && !other.Highest().Version.LT(highest.Version) {
			return found // RuleSwitch checks the upgrade to there.
		}
	}
	return append(found, Violation{
		Rule:    RuleNoSuccessor,
		Problem: fmt.Sprintf("it is deprecated, and no other channel has %s or a newer release", highest.Name),
		Fix:     "release it into another channel first",
	})
}
