package compat

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/operator-registry/alpha/declcfg"

	"github.com/example/memcached-operator/hack/internal/catalog"
	"github.com/example/memcached-operator/hack/project"
)

// Upgrade is an upgrade from one release to another.
type Upgrade struct {
	// Why lists the reasons to check it: the version under development, or edges of the catalog.
	Why []string

	from, to Release
}

// String names the upgrade and its reasons. Messages begin with it.
func (u Upgrade) String() string {
	return fmt.Sprintf("v%s → v%s (%s)", u.from.Version, u.to.Version, strings.Join(u.Why, ", "))
}

// Upgrades returns every pair of releases that must be compatible: each with the last one, and those that an edge of the
// rendered catalog joins. An edge from a release without a bundle is an error, because it cannot be checked.
func Upgrades(root string, releases []Release) ([]Upgrade, error) {
	var found upgrades
	last := releases[len(releases)-1]
	for _, r := range releases[:len(releases)-1] {
		found.add(r, last, "an earlier release")
	}
	config, err := declcfg.LoadFile(os.DirFS(root), catalog.File)
	if errors.Is(err, fs.ErrNotExist) {
		return found, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the rendered catalog %s: %w", catalog.File, err)
	}
	var errs []error
	for _, channel := range config.Channels {
		for _, entry := range channel.Entries {
			errs = append(errs, found.addEdges(channel.Name, entry, releases))
		}
	}
	slices.SortFunc(found, func(a, b Upgrade) int {
		if order := a.from.version.Compare(b.from.version); order != 0 {
			return order
		}
		return a.to.version.Compare(b.to.version)
	})
	return found, errors.Join(errs...)
}

// upgrades collects upgrades, each once.
type upgrades []Upgrade

func (u *upgrades) add(from, to Release, why string) {
	if from.Version == to.Version {
		return
	}
	i := slices.IndexFunc(*u, func(other Upgrade) bool {
		return other.from.Version == from.Version && other.to.Version == to.Version
	})
	if i < 0 {
		*u = append(*u, Upgrade{from: from, to: to, Why: []string{why}})
	} else if !slices.Contains((*u)[i].Why, why) {
		(*u)[i].Why = append((*u)[i].Why, why)
	}
}

// addEdges adds the edges that lead to an entry of a channel.
func (u *upgrades) addEdges(channel string, entry declcfg.ChannelEntry, releases []Release) error {
	find := func(name string) *Release {
		if i := slices.IndexFunc(releases, func(r Release) bool { return project.CSVName(r.Version) == name }); i >= 0 {
			return &releases[i]
		}
		return nil
	}
	to := find(entry.Name)
	if to == nil {
		return fmt.Errorf("channel %s has the entry %s, but there is no such release: remove the entry, or check with a --version that is not older", channel, entry.Name)
	}
	var errs []error
	join := func(name, edge string) {
		if from := find(name); from != nil {
			u.add(*from, *to, edge+" in "+channel)
		} else {
			errs = append(errs, fmt.Errorf("channel %s: %s %s %s, but there is no such release, so the CRDs cannot be compared: remove the edge", channel, entry.Name, edge, name))
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
		for _, from := range releases {
			if inRange(from.version) {
				u.add(from, *to, "skipRange in "+channel)
			}
		}
	}
	return errors.Join(errs...)
}
