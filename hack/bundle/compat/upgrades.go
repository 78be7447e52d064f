package compat

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/operator-registry/alpha/declcfg"

	"github.com/example/memcached-operator/hack/project"
)

// CatalogFile is the rendered catalog, relative to the root of the checkout: its edges are what OLM follows.
const CatalogFile = "catalog/" + project.Package + "/catalog.yaml"

// Upgrade is a way from one version to another.
type Upgrade struct {
	// From and To are semantic versions without a leading v.
	From, To string
	// Why says where it comes from: the development, or the edges of the catalog.
	Why []string
}

// String names the upgrade and where it comes from, as messages begin with it.
func (u Upgrade) String() string {
	return fmt.Sprintf("v%s → v%s (%s)", u.From, u.To, strings.Join(u.Why, ", "))
}

// Upgrades returns every pair of releases that has to be compatible: all earlier ones with the last of the given
// releases, which is under development or was released last, and those that an edge of the rendered catalog joins.
// Edges from versions that no bundle is known of are errors: they cannot be judged.
func Upgrades(root string, releases []Release) ([]Upgrade, error) {
	last := releases[len(releases)-1].Version
	found := upgrades{}
	for _, r := range releases[:len(releases)-1] {
		found.add(r.Version, last, "an earlier release")
	}
	catalog, err := declcfg.LoadFile(os.DirFS(root), CatalogFile)
	if errors.Is(err, fs.ErrNotExist) {
		return found.sorted(), nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the rendered catalog %s: %w", CatalogFile, err)
	}
	known := map[string]string{}
	for _, r := range releases {
		known[project.CSVName(r.Version)] = r.Version
	}
	var errs []error
	for _, channel := range catalog.Channels {
		for _, entry := range channel.Entries {
			errs = append(errs, found.edges(channel.Name, entry, known))
		}
	}
	return found.sorted(), errors.Join(errs...)
}

// upgrades collects the reasons by pair of versions.
type upgrades map[[2]string][]string

func (u upgrades) add(from, to, why string) {
	pair := [2]string{from, to}
	if from != to && !slices.Contains(u[pair], why) {
		u[pair] = append(u[pair], why)
	}
}

// edges adds what leads to one entry of a channel.
func (u upgrades) edges(channel string, entry declcfg.ChannelEntry, known map[string]string) error {
	to, ok := known[entry.Name]
	if !ok {
		return fmt.Errorf("channel %s has the entry %s, but there is no such release: remove the entry, or check with a --version that is not older", channel, entry.Name)
	}
	var errs []error
	join := func(name, edge string) {
		if from, ok := known[name]; ok {
			u.add(from, to, edge+" in "+channel)
		} else {
			errs = append(errs, fmt.Errorf("channel %s: %s %s %s, but there is no such release, so the definitions cannot be compared: remove the edge", channel, entry.Name, edge, name))
		}
	}
	if entry.Replaces != "" {
		join(entry.Replaces, "replaces")
	}
	for _, name := range entry.Skips {
		join(name, "skips")
	}
	if entry.SkipRange != "" {
		inRange, err := semver.ParseRange(entry.SkipRange)
		if err != nil {
			return fmt.Errorf("channel %s: skipRange %q of %s is no range of versions: %w", channel, entry.SkipRange, entry.Name, err)
		}
		for _, from := range known {
			if v, err := semver.Parse(from); err == nil && inRange(v) {
				u.add(from, to, "skipRange in "+channel)
			}
		}
	}
	return errors.Join(errs...)
}

// sorted orders upgrades by the version that they start from, then by the one that they lead to.
func (u upgrades) sorted() []Upgrade {
	var list []Upgrade
	for pair, why := range u {
		list = append(list, Upgrade{From: pair[0], To: pair[1], Why: why})
	}
	slices.SortFunc(list, func(a, b Upgrade) int {
		return cmp.Or(compareVersions(a.From, b.From), compareVersions(a.To, b.To))
	})
	return list
}

// compareVersions orders versions that were parsed before.
func compareVersions(a, b string) int {
	left, leftErr := semver.Parse(a)
	right, rightErr := semver.Parse(b)
	if leftErr != nil || rightErr != nil {
		return strings.Compare(a, b)
	}
	return left.Compare(right)
}
