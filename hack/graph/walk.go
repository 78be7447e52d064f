package graph

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrNoChain says that OLM v0 cannot order the entries of a channel, so it resolves no Subscription to it.
var ErrNoChain = errors.New("OLM v0 cannot order the channel")

// Heads returns the entries that no entry of the channel replaces or skips.
func (c *Channel) Heads() []*Entry {
	behind := map[string]bool{}
	for _, entry := range c.Entries {
		behind[entry.Replaces] = true
		for _, skipped := range entry.Skips {
			behind[skipped] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(c.Entries), func(e *Entry) bool { return behind[e.Name] })
}

// Chain returns the entries that OLM v0 chooses from, the head first: it follows replaces from the only head, and leaves
// out entries that another one skips. The error is ErrNoChain if there is not exactly one head, or if replaces form a
// cycle. See sortChannel in operator-lifecycle-manager v0.46.0, pkg/controller/registry/resolver/resolver.go.
func (c *Channel) Chain() ([]*Entry, error) {
	heads := c.Heads()
	if len(heads) != 1 {
		names := make([]string, len(heads))
		for i, head := range heads {
			names[i] = head.Name
		}
		return nil, fmt.Errorf("%w: it has %d heads (%s)", ErrNoChain, len(heads), strings.Join(names, ", "))
	}
	skipped := map[string]bool{}
	for _, entry := range c.Entries {
		for _, name := range entry.Skips {
			skipped[name] = true
		}
	}
	var chain []*Entry
	visited := map[*Entry]bool{}
	for at := heads[0]; at != nil; at = c.Entry(at.Replaces) {
		if visited[at] {
			return nil, fmt.Errorf("%w: its replaces lead back to %s", ErrNoChain, at.Name)
		}
		visited[at] = true
		if !skipped[at.Name] {
			chain = append(chain, at)
		}
	}
	return chain, nil
}

// Step returns the entry that OLM upgrades an installed release to, or nil if there is no upgrade.
type Step func(installed *Release) *Entry

// V0 returns how OLM v0 upgrades a release, which need not be in the channel: to the entry of the chain nearest to the head
// that has an edge from it. Its solver refuses bundles with the property olm.deprecated (see
// NewBundleVariableFromOperator in variable_types.go). It ignores olm.deprecations.
func (c *Channel) V0() (Step, error) {
	chain, err := c.Chain()
	if err != nil {
		return nil, err
	}
	return func(installed *Release) *Entry {
		for _, entry := range chain {
			if !entry.Refused && entry.Edge(installed) != "" {
				return entry
			}
		}
		return nil
	}, nil
}

// V1 returns how OLM v1 upgrades a release for a ClusterExtension that names the channel: to the best of all entries with
// an edge from it. The installed release is a candidate too, if the channel has it, so a deprecated entry does not follow one
// that is not deprecated. A test compares V1, Graph.V1 and Entry.Edge with the resolver of operator-controller v1.2.0.
func (c *Channel) V1() Step {
	return func(installed *Release) *Entry { return best(c.Entries, installed, c.Entry(installed.Name) != nil) }
}

// V1 returns how OLM v1 upgrades a release for a ClusterExtension that names no channel: along the edges of all channels. The
// installed release is always a candidate, so a release that is not deprecated follows no edge to one that is, not even into a
// channel that lacks the installed release.
func (g *Graph) V1() Step {
	var entries []*Entry
	for _, channel := range g.Channels {
		entries = append(entries, channel.Entries...)
	}
	return func(installed *Release) *Entry { return best(entries, installed, true) }
}

// best returns the entry that OLM v1 prefers of those with an edge from the installed release, or nil if there is none. It also
// returns nil if the installed release is a candidate itself and is preferred.
func best(entries []*Entry, installed *Release, candidate bool) *Entry {
	followers := slices.DeleteFunc(slices.Clone(entries), func(e *Entry) bool { return e.Name == installed.Name || e.Edge(installed) == "" })
	if len(followers) == 0 {
		return nil
	}
	found := slices.MinFunc(followers, func(a, b *Entry) int { return preferredByV1(a.Release, b.Release) })
	if candidate && preferredByV1(installed, found.Release) < 0 {
		return nil
	}
	return found
}

// preferredByV1 sorts deprecated releases last, and higher versions first.
func preferredByV1(a, b *Release) int {
	if (a.Deprecated == "") != (b.Deprecated == "") {
		if a.Deprecated == "" {
			return -1
		}
		return 1
	}
	return b.Version.Compare(a.Version)
}

// Walk upgrades a release step by step, until it reaches the goal, there is no upgrade, or a release comes again. It
// returns the name of the last release, which is that of the goal if and only if OLM reaches it.
func Walk(from, goal *Release, step Step) string {
	visited := map[string]bool{}
	for from.Name != goal.Name && !visited[from.Name] {
		visited[from.Name] = true
		next := step(from)
		if next == nil {
			break
		}
		from = next.Release
	}
	return from.Name
}
