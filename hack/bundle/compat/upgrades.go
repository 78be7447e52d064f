package compat

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/operator-framework/operator-registry/alpha/declcfg"

	"github.com/example/memcached-operator/hack/graph"
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
// rendered catalog joins.
func Upgrades(root string, releases []Release) ([]Upgrade, error) {
	channels, err := channels(root)
	if err != nil {
		return nil, err
	}
	var found []Upgrade
	for i, from := range releases {
		for j, to := range releases {
			why := edges(channels, from, to)
			if j == len(releases)-1 {
				why = append([]string{"an earlier release"}, why...)
			}
			if i != j && len(why) > 0 {
				found = append(found, Upgrade{from: from, to: to, Why: why})
			}
		}
	}
	return found, nil
}

// edges names the edges of the catalog from one release to another.
func edges(channels []*graph.Channel, from, to Release) []string {
	installed := &graph.Release{Name: project.CSVName(from.Version), Version: from.version}
	var found []string
	for _, channel := range channels {
		if entry := channel.Entry(project.CSVName(to.Version)); entry != nil && entry.Edge(installed) != "" {
			found = append(found, fmt.Sprintf("%s in %s", entry.Edge(installed), channel.Name))
		}
	}
	return found
}

// channels returns the channels of the rendered catalog, and none before the first release.
func channels(root string) ([]*graph.Channel, error) {
	config, err := declcfg.LoadFile(os.DirFS(root), catalog.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the rendered catalog %s: %w", catalog.File, err)
	}
	upgrades, err := graph.Read(*config)
	if err != nil {
		return nil, err
	}
	return upgrades.Channels, nil
}
