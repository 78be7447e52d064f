package graph

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrNoChain says that OLM v0 cannot put the entries of a channel in an order, and so resolves nothing at all for
// whoever follows it.
var ErrNoChain = errors.New("OLM v0 cannot order the channel")

// Heads are the entries that no entry of the channel replaces or skips.
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

// Chain is what OLM v0 chooses from, the head first: it follows replaces from the one head, and leaves out what some
// entry skips (but goes on behind it). The error is ErrNoChain when there is not exactly one head, or a cycle behind
// it. From sortChannel in operator-lifecycle-manager v0.46.0, pkg/controller/registry/resolver/resolver.go.
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
			return nil, fmt.Errorf("%w: its replaces come back to %s", ErrNoChain, at.Name)
		}
		visited[at] = true
		if !skipped[at.Name] {
			chain = append(chain, at)
		}
	}
	return chain, nil
}

// Step finds what is installed over a release in one upgrade; nil when nothing is, so that it stays.
type Step func(installed *Release) *Entry

// V0 is how OLM v0 goes on from a release, which need not be in the channel: to the entry of the chain nearest to the
// head that has an edge from it. Bundles with the property olm.deprecated are prohibited to its solver (see
// NewBundleVariableFromOperator in variable_types.go); a deprecation in olm.deprecations changes nothing.
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

// V1 is how OLM v1 goes on from a release for a ClusterExtension that names the channel: no chain, but of all entries
// with an edge from it the best one. What is installed is a candidate too, so a deprecated entry does not follow one
// that is not. From Resolve in operator-controller, resolve/catalog.go, and SuccessorsOf.
func (c *Channel) V1() Step {
	return func(installed *Release) *Entry {
		var candidates []*Entry
		for _, entry := range c.Entries {
			if entry.Name == installed.Name || entry.Edge(installed) != "" {
				candidates = append(candidates, entry)
			}
		}
		if len(candidates) == 0 {
			return nil
		}
		if best := slices.MinFunc(candidates, preferredByV1); best.Name != installed.Name {
			return best
		}
		return nil
	}
}

// preferredByV1 orders what is deprecated last, and else the highest version first.
func preferredByV1(a, b *Entry) int {
	if (a.Deprecated == "") != (b.Deprecated == "") {
		if a.Deprecated == "" {
			return -1
		}
		return 1
	}
	return b.Version.Compare(a.Version)
}

// Walk goes on from a release until it gets to the goal, nothing more is installed over it, or one is that was there
// before. It returns where that is: the name of the last release, which is the goal's exactly if OLM gets there.
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
