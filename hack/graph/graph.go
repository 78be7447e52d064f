// Package graph is the upgrade graph of a rendered catalog, and how each generation of OLM walks it: the releases,
// the channels, and from an installed release the one that OLM would install next.
//
// It is pure, and it judges nothing: what a good graph is, is settled in the package lint.
package graph

import (
	"slices"

	"github.com/blang/semver/v4"
)

// Graph is the upgrade graph of one package.
type Graph struct {
	// Package is the name of the package, DefaultChannel what a Subscription without a channel follows.
	Package, DefaultChannel string
	// Deprecated is the message of the package's deprecation, empty when there is none.
	Deprecated string
	// Channels are in the order of their names.
	Channels []*Channel
	// Releases are the bundles of the package, lowest version first.
	Releases []*Release
	// Barriers are declared in the catalog, lowest version first. See BarrierSchema.
	Barriers []*Barrier
}

// Release is a bundle of the package.
type Release struct {
	// Name is that of the bundle and its ClusterServiceVersion.
	Name string
	// Version is that of the bundle's olm.package property.
	Version semver.Version
	// Deprecated is the message of its deprecation in olm.deprecations, empty when there is none.
	Deprecated string
	// Refused says that the bundle has the property olm.deprecated, so that OLM v0 installs it for nobody.
	Refused bool
	// Barrier is set on a barrier release.
	Barrier *Barrier
}

// Barrier is a release that nobody may pass over: whoever has an older one installs it before any newer one.
type Barrier struct {
	// Name is the barrier release's, Reason is what it does that a newer one relies on.
	Name   string `json:"name"`
	Reason string `json:"reason"`
	// Release is nil when the catalog has no bundle of that name.
	Release *Release `json:"-"`
}

// Channel is a channel with its entries, in the order of the catalog.
type Channel struct {
	Name string
	// Deprecated is the message of the channel's deprecation, empty when there is none.
	Deprecated string
	Entries    []*Entry
}

// Entry is a release in a channel, with the edges that lead to it.
type Entry struct {
	*Release
	Replaces  string
	Skips     []string
	SkipRange Range
}

// Kind is the kind of an edge, by the field of the entry that makes it.
type Kind string

// The kinds of edges, the plainest first: an entry that reaches a release in two ways has an edge of the first kind.
const (
	Replaces  Kind = "replaces"
	Skips     Kind = "skips"
	SkipRange Kind = "skipRange"
)

// Edge is how the entry can be installed over a release; "" when it cannot be.
//
// The two generations of OLM agree on this: in v0 ReplacesPredicate (which looks at skips as well) or
// SkipRangeIncludesPredicate (operator-lifecycle-manager v0.46.0, resolver/cache/predicates.go), in v1 legacySuccessor
// (operator-controller, catalogmetadata/filter/successors.go). An entry may so have an edge to itself.
func (e *Entry) Edge(installed *Release) Kind {
	switch {
	case e.Replaces == installed.Name:
		return Replaces
	case slices.Contains(e.Skips, installed.Name):
		return Skips
	case e.SkipRange.Holds(installed.Version):
		return SkipRange
	default:
		return ""
	}
}

// Entry is the channel's entry for a release, nil when it has none.
func (c *Channel) Entry(name string) *Entry {
	for _, entry := range c.Entries {
		if entry.Name == name {
			return entry
		}
	}
	return nil
}

// Highest is the entry with the highest version.
func (c *Channel) Highest() *Entry {
	return slices.MaxFunc(c.Entries, func(a, b *Entry) int { return a.Version.Compare(b.Version) })
}

// Release is the one of that name, nil when the catalog has none.
func (g *Graph) Release(name string) *Release {
	for _, release := range g.Releases {
		if release.Name == name {
			return release
		}
	}
	return nil
}
