package graph

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/alpha/property"
)

// BarrierSchema is the schema of the list of barriers. A file-based catalog may hold documents of any schema, and OLM
// ignores those that it does not know. The list has the form of olm.deprecations:
//
//	schema: memcached-operator.barriers
//	package: memcached-operator
//	entries:
//	- name: memcached-operator.v0.3.0
//	  reason: it rewrites stored objects in the version that later releases read
const BarrierSchema = "memcached-operator.barriers"

// deprecatedProperty is a property of bundles that the v0 solver refuses. It is DeprecatedType in operator-registry
// v1.73.0, pkg/registry/types.go, and not related to olm.deprecations.
const deprecatedProperty = "olm.deprecated"

// Read returns the graph of the only package in a rendered catalog. The error names everything that cannot be read.
func Read(config declcfg.DeclarativeConfig) (*Graph, error) {
	if len(config.Packages) != 1 {
		return nil, fmt.Errorf("read the upgrade graph: the catalog has %d packages, not one", len(config.Packages))
	}
	g := &Graph{Package: config.Packages[0].Name, DefaultChannel: config.Packages[0].DefaultChannel}
	err := errors.Join(g.readReleases(config.Bundles), g.readChannels(config.Channels),
		g.readDeprecations(config.Deprecations), g.readBarriers(config.Others))
	if err != nil {
		return nil, fmt.Errorf("read the upgrade graph: %w", err)
	}
	return g, nil
}

func (g *Graph) readReleases(bundles []declcfg.Bundle) error {
	var errs []error
	for _, bundle := range bundles {
		release := &Release{Name: bundle.Name}
		version := ""
		for _, p := range bundle.Properties {
			switch p.Type {
			case deprecatedProperty:
				release.Refused = true
			case property.TypePackage:
				var value property.Package
				errs = append(errs, parse(bundle.Name, p, &value))
				version = value.Version
			case property.TypeCSVMetadata:
				var value property.CSVMetadata
				errs = append(errs, parse(bundle.Name, p, &value))
				release.Annotated = new(value.Annotations["olm.skipRange"])
			}
		}
		var err error
		if release.Version, err = semver.Parse(version); err != nil {
			errs = append(errs, fmt.Errorf("bundle %s: its version %q is not a semantic version: %w", bundle.Name, version, err))
		}
		g.Releases = append(g.Releases, release)
	}
	slices.SortStableFunc(g.Releases, func(a, b *Release) int { return a.Version.Compare(b.Version) })
	return errors.Join(errs...)
}

// parse parses a property of a bundle.
func parse(bundle string, p property.Property, value any) error {
	if err := json.Unmarshal(p.Value, value); err != nil {
		return fmt.Errorf("bundle %s: its property %s: %w", bundle, p.Type, err)
	}
	return nil
}

func (g *Graph) readChannels(channels []declcfg.Channel) error {
	var errs []error
	for _, channel := range channels {
		c := &Channel{Name: channel.Name, graph: g}
		for _, entry := range channel.Entries {
			release := g.Release(entry.Name)
			if release == nil {
				errs = append(errs, fmt.Errorf("channel %s has an entry %q, but there is no bundle of that name", channel.Name, entry.Name))
				continue
			}
			c.Entries = append(c.Entries, &Entry{Release: release, Replaces: entry.Replaces, Skips: entry.Skips, SkipRange: ParseRange(entry.SkipRange)})
		}
		if len(c.Entries) > 0 {
			g.Channels = append(g.Channels, c)
		}
	}
	slices.SortStableFunc(g.Channels, func(a, b *Channel) int { return strings.Compare(a.Name, b.Name) })
	return errors.Join(errs...)
}

func (g *Graph) readDeprecations(deprecations []declcfg.Deprecation) error {
	var errs []error
	for _, deprecation := range deprecations {
		for _, entry := range deprecation.Entries {
			switch entry.Reference.Schema {
			case declcfg.SchemaPackage:
				g.Deprecated = entry.Message
			case declcfg.SchemaChannel:
				for _, c := range g.Channels {
					if c.Name == entry.Reference.Name {
						c.Deprecated = entry.Message
					}
				}
			case declcfg.SchemaBundle:
				if release := g.Release(entry.Reference.Name); release != nil {
					release.Deprecated = entry.Message
				} else {
					errs = append(errs, fmt.Errorf("olm.deprecations names the bundle %q, which does not exist", entry.Reference.Name))
				}
			}
		}
	}
	return errors.Join(errs...)
}

func (g *Graph) readBarriers(documents []declcfg.Meta) error {
	var errs []error
	for _, document := range documents {
		if document.Schema != BarrierSchema {
			errs = append(errs, fmt.Errorf("a document has the schema %q, which nothing reads: the one for barriers is %s", document.Schema, BarrierSchema))
			continue
		}
		var list struct {
			Schema  string    `json:"schema"`
			Package string    `json:"package"`
			Entries []Barrier `json:"entries"`
		}
		decoder := json.NewDecoder(bytes.NewReader(document.Blob))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&list); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", BarrierSchema, err))
		}
		if list.Package != g.Package {
			errs = append(errs, fmt.Errorf("%s is for the package %q, not %s", BarrierSchema, list.Package, g.Package))
		}
		for i := range list.Entries {
			barrier := &list.Entries[i]
			if barrier.Release = g.Release(barrier.Name); barrier.Release != nil {
				barrier.Release.Barrier = barrier
			}
			if barrier.Reason == "" {
				errs = append(errs, fmt.Errorf("%s: %q has no reason: say what it does that a newer release relies on", BarrierSchema, barrier.Name))
			}
			g.Barriers = append(g.Barriers, barrier)
		}
	}
	slices.SortStableFunc(g.Barriers, func(a, b *Barrier) int { return a.version().Compare(b.version()) })
	return errors.Join(errs...)
}

// version is the version of the release, or the lowest version if there is no release.
func (b *Barrier) version() semver.Version {
	if b.Release == nil {
		return lowest
	}
	return b.Release.Version
}
