// Package graph is the upgrade graph of a rendered catalog: its releases and channels, how both generations of OLM
// upgrade along it, and the rules that it must not break. It is pure: a catalog in, a graph and violations out.
package graph

import (
	"slices"

	"github.com/blang/semver/v4"
)

// Graph is the upgrade graph of a package.
type Graph struct {
	// Package is the name of the package.
	Package string
	// DefaultChannel is the channel of a Subscription that names none.
	DefaultChannel string
	// Deprecated is the message of the package's deprecation, empty if it is not deprecated.
	Deprecated string
	// Channels are sorted by name.
	Channels []*Channel
	// Releases are the bundles of the package, lowest version first.
	Releases []*Release
	// Barriers are those that the catalog declares, lowest version first. See BarrierSchema.
	Barriers []*Barrier
}

// Release is a bundle of the package.
type Release struct {
	// Name is the name of the bundle and of its ClusterServiceVersion.
	Name string
	// Version is the version in the bundle's olm.package property.
	Version semver.Version
	// Deprecated is the message in olm.deprecations, empty if it is not deprecated.
	Deprecated string
	// Refused says that the bundle has the property olm.deprecated. OLM v0 refuses to install it.
	Refused bool
	// Annotated is the skipRange in the annotations of the ClusterServiceVersion, nil if the bundle does not describe them.
	Annotated *string
	// Barrier is set if the release is a barrier.
	Barrier *Barrier
}

// Barrier is a release that no upgrade may skip: it must be installed before any newer release.
type Barrier struct {
	// Name is the name of the release.
	Name string `json:"name"`
	// Reason says what the release does that newer ones rely on.
	Reason string `json:"reason"`
	// Release is nil if the catalog has no bundle of that name.
	Release *Release `json:"-"`
}

// Channel is a channel with its entries, in the order of the catalog.
type Channel struct {
	Name string
	// Deprecated is the message of the channel's deprecation, empty if it is not deprecated.
	Deprecated string
	Entries    []*Entry

	graph *Graph
}

// Entry is a release in a channel, with the edges that lead to it.
type Entry struct {
	*Release
	Replaces  string
	Skips     []string
	SkipRange Range
}

// Kind is the kind of an edge: the field of the entry that defines it.
type Kind string

// The kinds of edges, in order of precedence for an entry that has several edges from the same release.
const (
	Replaces  Kind = "replaces"
	Skips     Kind = "skips"
	SkipRange Kind = "skipRange"
)

// Edge returns the kind of the edge from an installed release to the entry, or "" if there is none. An entry may have an
// edge from itself.
//
// Both generations of OLM agree on this. In v0 it is ReplacesPredicate, which also looks at skips, or
// SkipRangeIncludesPredicate (operator-lifecycle-manager v0.46.0, resolver/cache/predicates.go). In v1 it is
// legacySuccessor (operator-controller, catalogmetadata/filter/successors.go).
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

// Edge returns the kind of the edge between two releases in any channel, or "" if there is none.
func (g *Graph) Edge(from, to *Release) Kind {
	for _, channel := range g.Channels {
		if entry := channel.Entry(to.Name); entry != nil && entry.Edge(from) != "" {
			return entry.Edge(from)
		}
	}
	return ""
}

// Entry returns the entry of a release, or nil if the channel does not have it.
func (c *Channel) Entry(name string) *Entry {
	for _, entry := range c.Entries {
		if entry.Name == name {
			return entry
		}
	}
	return nil
}

// Highest returns the entry with the highest version.
func (c *Channel) Highest() *Entry {
	return slices.MaxFunc(c.Entries, func(a, b *Entry) int { return a.Version.Compare(b.Version) })
}

// Release returns the release of that name, or nil if the catalog does not have it.
func (g *Graph) Release(name string) *Release {
	for _, release := range g.Releases {
		if release.Name == name {
			return release
		}
	}
	return nil
}
