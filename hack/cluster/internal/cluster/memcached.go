package cluster

import (
	"context"
	"path/filepath"

	"github.com/example/memcached-operator/hack/cluster/internal/debian"
	"github.com/example/memcached-operator/hack/cluster/internal/registry"
)

// Memcached downloads memcached of several Debian releases, unless it is there, and returns the folders that it is
// unpacked in, a version each, the oldest release first. The libraries that it needs are beside it, because those of this
// machine may be of another release.
func (c *Cluster) Memcached(ctx context.Context) ([]string, error) {
	tasks := c.memcachedTasks()
	c.report.Expect(len(tasks))
	if err := c.perform(ctx, tasks); err != nil {
		return nil, err
	}
	downloads, err := c.memcachedPackages()
	if err != nil {
		return nil, err
	}
	var roots []string
	for _, packages := range downloads {
		version, err := registry.Version(packages)
		if err != nil {
			return nil, err
		}
		root := filepath.Join(c.layout.Bin(), registry.MemcachedPackage+"-"+version)
		if !debian.Memcached.Unpacked(root) {
			if err := debian.Memcached.Unpack(packages, root); err != nil {
				return nil, err
			}
		}
		roots = append(roots, root)
	}
	return roots, nil
}

// memcachedTasks downloads the packages that are missing.
func (c *Cluster) memcachedTasks() []task {
	var tasks []task
	for _, release := range debian.Releases() {
		dir := c.layout.Cluster("debs", release.Name)
		if !debian.Downloaded(dir) {
			tasks = append(tasks, task{"download memcached of Debian " + release.Name, func(ctx context.Context) error {
				return c.download(ctx, release, dir)
			}})
		}
	}
	return tasks
}

// download fetches memcached's packages of one release. An optional release that cannot be had is left out.
func (c *Cluster) download(ctx context.Context, release debian.Release, dir string) error {
	err := debian.Download(ctx, registry.MemcachedPackage, release.Name, dir)
	if err != nil && release.Optional && ctx.Err() == nil {
		c.report.Logf("        going on without memcached of Debian %s (remove %s to try again): %v", release.Name, dir, err)
		return debian.Without(dir)
	}
	return err
}

// memcachedPackages returns the downloaded packages of each release that can be had.
func (c *Cluster) memcachedPackages() ([][]string, error) {
	var all [][]string
	for _, release := range debian.Releases() {
		packages, err := debian.Packages(c.layout.Cluster("debs", release.Name))
		if err != nil {
			return nil, err
		}
		if len(packages) > 0 {
			all = append(all, packages)
		}
	}
	return all, nil
}
