package cluster

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/example/memcached-operator/hack/cluster/internal/build"
	"github.com/example/memcached-operator/hack/cluster/internal/debian"
	"github.com/example/memcached-operator/hack/cluster/internal/registry"
)

// memcachedReleases are the Debian releases that memcached is taken from, the oldest first: 1.6.18 in bookworm, 1.6.38 in
// trixie, the newest in sid.
var memcachedReleases = []string{"bookworm", "trixie", optionalRelease}

// optionalRelease is left out, with a message, if it cannot be downloaded.
const optionalRelease = "sid"

// needed lists the tools of the cluster.
func needed(options Options) []build.Tool {
	list := []build.Tool{build.Kube, build.CoreDNS, build.Pause, build.OLM, build.OPM}
	if options.WithOLMv1 {
		list = append(list, build.OLMv1)
	}
	if options.WithNetworkPolicies {
		list = append(list, build.NetworkPolicies)
	}
	if options.WithSDK {
		list = append(list, build.OperatorSDK)
	}
	return list
}

// folders returns the folder of each tool's programs by the tool's module, whether it is built or not.
func (c *Cluster) folders() (map[string]string, error) {
	folders := map[string]string{}
	for _, tool := range needed(Options{WithOLMv1: true, WithNetworkPolicies: true, WithSDK: true}) {
		folder, err := c.builder.Dir(tool)
		if err != nil {
			return nil, err
		}
		folders[tool.Module] = folder
	}
	return folders, nil
}

// perform runs tasks one by one, because compilers and package managers use the whole machine.
func (c *Cluster) perform(ctx context.Context, tasks Steps) error {
	c.report.Expect(len(tasks))
	for _, task := range tasks {
		if err := c.report.Track(task.Name, func() error { return task.Up(ctx) }); err != nil {
			return err
		}
	}
	return nil
}

// missing lists the tasks before the first step: to install, build and download what is not there.
func (c *Cluster) missing(options Options) (Steps, error) {
	tasks := installTasks()
	for _, tool := range needed(options) {
		builds, err := c.buildTasks(tool)
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, builds...)
	}
	tasks = append(tasks, c.memcachedTasks()...)
	if dir := c.debs(registry.NginxPackage); !debian.Downloaded(dir) {
		tasks = append(tasks, Step{Name: "download nginx of Debian", Up: func(ctx context.Context) error {
			return debian.Download(ctx, registry.NginxPackage, "", dir)
		}})
	}
	return tasks, nil
}

// debs is a folder of downloaded packages. Those of memcached have the name of their release, others that of the package.
func (c *Cluster) debs(name string) string { return c.Layout.Cluster("debs", name) }

// Packages installs the missing Debian packages.
func (c *Cluster) Packages(ctx context.Context) error {
	missing := debian.MissingPackages()
	if len(missing) > 0 && os.Geteuid() != 0 {
		return fmt.Errorf("the packages %s are missing, and installing them needs root: run apt-get install %[1]s, or this with sudo -E", strings.Join(missing, " "))
	}
	return c.perform(ctx, installTasks())
}

func installTasks() Steps {
	missing := debian.MissingPackages()
	if len(missing) == 0 {
		return nil
	}
	return Steps{{Name: "install " + strings.Join(missing, " "), Up: func(ctx context.Context) error {
		if err := debian.Install(ctx, missing); err != nil {
			return err
		}
		if still := debian.MissingPackages(); len(still) > 0 {
			return fmt.Errorf("the packages %s are installed, but their programs are not where they are expected: see hack/cluster/README.md", strings.Join(still, " "))
		}
		return nil
	}}}
}

// buildTasks builds the tool unless it is there.
func (c *Cluster) buildTasks(tool build.Tool) (Steps, error) {
	missing, err := c.builder.Missing(tool)
	if err != nil || !missing {
		return nil, err
	}
	name := fmt.Sprintf("build %s (up to %s)", tool.Module, tool.Cold)
	return Steps{{Name: name, Up: func(ctx context.Context) error { return c.builder.Build(ctx, tool) }}}, nil
}

// memcachedTasks downloads memcached of each Debian release unless it is there.
func (c *Cluster) memcachedTasks() Steps {
	var tasks Steps
	for _, release := range memcachedReleases {
		dir := c.debs(release)
		if debian.Downloaded(dir) {
			continue
		}
		tasks = append(tasks, Step{Name: "download memcached of Debian " + release, Up: func(ctx context.Context) error {
			err := debian.Download(ctx, debian.Memcached.Package, release, dir)
			if err != nil && release == optionalRelease && ctx.Err() == nil {
				c.report.Logf("        going on without memcached of Debian %s (remove %s to try again): %v", release, dir, err)
				return debian.MarkUnavailable(dir)
			}
			return err
		}})
	}
	return tasks
}

// memcachedPackages returns the downloaded packages by memcached's version.
func (c *Cluster) memcachedPackages() ([][]string, error) {
	var all [][]string
	for _, release := range memcachedReleases {
		packages, err := debian.Packages(c.debs(release))
		if err != nil {
			return nil, err
		}
		if len(packages) > 0 {
			all = append(all, packages)
		}
	}
	return all, nil
}

// Memcached downloads and unpacks memcached of several Debian releases, unless it is there. It returns one folder per
// version, the oldest release first. Each folder also holds memcached's libraries, because those of this machine may be of
// another release.
func (c *Cluster) Memcached(ctx context.Context) ([]string, error) {
	if err := c.perform(ctx, c.memcachedTasks()); err != nil {
		return nil, err
	}
	downloads, err := c.memcachedPackages()
	if err != nil {
		return nil, err
	}
	var roots []string
	for _, packages := range downloads {
		version, err := registry.MemcachedVersion(packages)
		if err != nil {
			return nil, err
		}
		root := filepath.Join(c.Layout.Bin(), debian.Memcached.Package+"-"+version)
		if !debian.Memcached.Unpacked(root) {
			if err := debian.Memcached.Unpack(packages, root); err != nil {
				return nil, err
			}
		}
		roots = append(roots, root)
	}
	return roots, nil
}

// Tool builds the tool with the named program, unless it is there, and returns the folder of the program. A few programs
// are unpacked from a Debian package instead.
func (c *Cluster) Tool(ctx context.Context, program string) (string, error) {
	if programs, ok := debian.Packaged[program]; ok {
		return c.unpacked(ctx, programs)
	}
	tool, err := build.Find(program)
	if err != nil {
		return "", fmt.Errorf("%w, and from Debian %s", err, strings.Join(slices.Sorted(maps.Keys(debian.Packaged)), ", "))
	}
	tasks, err := c.buildTasks(tool)
	if err != nil {
		return "", err
	}
	if err := c.perform(ctx, tasks); err != nil {
		return "", err
	}
	return c.builder.Dir(tool)
}

// unpacked downloads and unpacks the programs of a Debian package, unless they are there, and returns their folder. The
// package is of the machine's own release, because the programs use the machine's libraries.
func (c *Cluster) unpacked(ctx context.Context, programs debian.Programs) (string, error) {
	release, err := debian.Codename()
	if err != nil {
		return "", err
	}
	root := filepath.Join(c.Layout.Bin(), programs.Package+"-debian-"+release)
	if programs.Unpacked(root) {
		return programs.Dir(root), nil
	}
	name := "download " + strings.Join(programs.Names, " and ") + " of Debian " + release
	err = c.perform(ctx, Steps{{Name: name, Up: func(ctx context.Context) error {
		dir := c.debs(programs.Package)
		if !debian.Downloaded(dir) {
			if err := debian.Download(ctx, programs.Package, release, dir); err != nil {
				return err
			}
		}
		files, err := debian.Packages(dir)
		if err != nil {
			return err
		}
		return programs.Unpack(files, root)
	}}})
	return programs.Dir(root), err
}
