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

// BarrierSchema is the schema of the list of barrier releases. A file-based catalog may hold documents of any schema:
// OLM passes over those that it does not know. It is written as olm.deprecations is:
//
//	schema: memcached-operator.barriers
//	package: memcached-operator
//	entries:
//	- name: memcached-operator.v0.3.0
//	  reason: it rewrites stored objects in the version that later releases read
const BarrierSchema = "memcached-operator.barriers"

// deprecatedProperty has nothing to do with olm.deprecations: the v0 solver refuses a bundle that has it. It is
// DeprecatedType in operator-registry v1.73.0, pkg/registry/types.go.
const deprecatedProperty = "olm.deprecated"

// Read takes the graph of the one package out of a rendered catalog. The error names everything that cannot be read.
func Read(config declcfg.DeclarativeConfig) (*Graph, error) {
	if len(config.Packages) != 1 {
		return nil, fmt.Errorf("read the upgrade graph: the catalog has %d packages, not one", len(config.Packages))
	}
	g := &Graph{Package: config.Packages[0].Name, DefaultChannel: config.Packages[0].DefaultChannel}
	wrong := []error{g.readReleases(config.Bundles), g.readDeprecations(config.Deprecations), g.readBarriers(config.Others)}
	messages := channelDeprecations(config.Deprecations)
	for _, channel := range config.Channels {
		c := &Channel{Name: channel.Name, Deprecated: messages[channel.Name]}
		for _, entry := range channel.Entries {
			release := g.Release(entry.Name)
			if release == nil {
				wrong = append(wrong, fmt.Errorf("channel %s has an entry %q, but there is no bundle of that name", channel.Name, entry.Name))
				continue
			}
			// A range that cannot be read holds nothing, for OLM and here; lint names it.
			within, _ := ParseRange(entry.SkipRange)
			c.Entries = append(c.Entries, &Entry{Release: release, Replaces: entry.Replaces, Skips: entry.Skips, SkipRange: within})
		}
		if len(c.Entries) > 0 {
			g.Channels = append(g.Channels, c)
		}
	}
	slices.SortStableFunc(g.Channels, func(a, b *Channel) int { return strings.Compare(a.Name, b.Name) })
	if err := errors.Join(wrong...); err != nil {
		return nil, fmt.Errorf("read the upgrade graph: %w", err)
	}
	return g, nil
}

func (g *Graph) readReleases(bundles []declcfg.Bundle) error {
	var wrong []error
	for _, bundle := range bundles {
		release := &Release{Name: bundle.Name}
		version := ""
		for _, p := range bundle.Properties {
			switch p.Type {
			case deprecatedProperty:
				release.Refused = true
			case property.TypePackage:
				var value property.Package
				if err := json.Unmarshal(p.Value, &value); err != nil {
					wrong = append(wrong, fmt.Errorf("bundle %s: its property %s: %w", bundle.Name, p.Type, err))
				}
				version = value.Version
			}
		}
		var err error
		if release.Version, err = semver.Parse(version); err != nil {
			wrong = append(wrong, fmt.Errorf("bundle %s: its version %q is not a semantic version: %w", bundle.Name, version, err))
		}
		g.Releases = append(g.Releases, release)
	}
	slices.SortStableFunc(g.Releases, func(a, b *Release) int { return a.Version.Compare(b.Version) })
	return errors.Join(wrong...)
}

func (g *Graph) readDeprecations(deprecations []declcfg.Deprecation) error {
	var wrong []error
	for _, deprecation := range deprecations {
		for _, entry := range deprecation.Entries {
			switch entry.Reference.Schema {
			case declcfg.SchemaPackage:
				g.Deprecated = entry.Message
			case declcfg.SchemaBundle:
				if release := g.Release(entry.Reference.Name); release != nil {
					release.Deprecated = entry.Message
				} else {
					wrong = append(wrong, fmt.Errorf("olm.deprecations names the bundle %q, which there is not", entry.Reference.Name))
				}
			}
		}
	}
	return errors.Join(wrong...)
}

func channelDeprecations(deprecations []declcfg.Deprecation) map[string]string {
	messages := map[string]string{}
	for _, deprecation := range deprecations {
		for _, entry := range deprecation.Entries {
			if entry.Reference.Schema == declcfg.SchemaChannel {
				messages[entry.Reference.Name] = entry.Message
			}
		}
	}
	return messages
}

func (g *Graph) readBarriers(documents []declcfg.Meta) error {
	var wrong []error
	for _, document := range documents {
		if document.Schema != BarrierSchema {
			wrong = append(wrong, fmt.Errorf("a document has the schema %q, which nothing reads: the one for barriers is %s", document.Schema, BarrierSchema))
			continue
		}
		var list struct {
			Schema  string     `json:"schema"`
			Package string     `json:"package"`
			Entries []*Barrier `json:"entries"`
		}
		decoder := json.NewDecoder(bytes.NewReader(document.Blob))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&list); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", BarrierSchema, err))
		}
		if list.Package != g.Package {
			wrong = append(wrong, fmt.Errorf("%s is for the package %q, not %s", BarrierSchema, list.Package, g.Package))
		}
		for _, barrier := range list.Entries {
			if barrier.Release = g.Release(barrier.Name); barrier.Release != nil {
				barrier.Release.Barrier = barrier
			}
			if barrier.Reason == "" {
				wrong = append(wrong, fmt.Errorf("%s: %q has no reason: say what it does that a newer release relies on", BarrierSchema, barrier.Name))
			}
			g.Barriers = append(g.Barriers, barrier)
		}
	}
	slices.SortStableFunc(g.Barriers, func(a, b *Barrier) int {
		return a.version().Compare(b.version())
	})
	return errors.Join(wrong...)
}

// version is the least there is for a barrier that is no release, so that those come first.
func (b *Barrier) version() semver.Version {
	if b.Release == nil {
		return lowest
	}
	return b.Release.Version
}
