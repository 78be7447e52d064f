package cluster

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/example/memcached-operator/hack/cluster/internal/build"
	"github.com/example/memcached-operator/hack/cluster/internal/debian"
	"github.com/example/memcached-operator/hack/cluster/internal/registry"
)

// tools are the folders of built tools, and the packages that the images of memcached and nginx are made from.
type tools struct {
	kube, coredns, pause, olm, opm, sdk string
	// operands holds the package files of each Debian release.
	operands [][]string
	// webServer holds the package files of the machine's own release.
	webServer []string
}

// needed lists the tools that the cluster is made of.
func needed(options Options) []build.Tool {
	list := []build.Tool{build.Kube, build.CoreDNS, build.Pause, build.OLM, build.OPM}
	if options.WithSDK {
		list = append(list, build.OperatorSDK)
	}
	return list
}

// task is one piece of work before anything is started.
type task struct {
	name string
	run  func(context.Context) error
}

// perform runs tasks one after the other: compilers and package managers use the whole machine already.
func (c *Cluster) perform(ctx context.Context, tasks []task) error {
	for _, t := range tasks {
		if err := c.report.Track(t.name, func() error { return t.run(ctx) }); err != nil {
			return err
		}
	}
	return nil
}

// missing lists what is to be installed, built and downloaded before the cluster can start.
func (c *Cluster) missing(options Options) ([]task, error) {
	tasks := installTasks()
	builds, err := c.buildTasks(needed(options))
	if err != nil {
		return nil, err
	}
	tasks = append(tasks, builds...)
	tasks = append(tasks, c.memcachedTasks()...)
	if dir := c.webServerPackages(); !debian.Downloaded(dir) {
		tasks = append(tasks, task{"download nginx of Debian", func(ctx context.Context) error {
			release, err := debian.Codename()
			if err != nil {
				return err
			}
			return debian.Download(ctx, registry.NginxPackage, release, dir)
		}})
	}
	return tasks, nil
}

// webServerPackages is the folder that nginx is downloaded to. Those of memcached are called after their releases.
func (c *Cluster) webServerPackages() string {
	return c.layout.Cluster("debs", registry.NginxPackage)
}

// Packages installs the Debian packages whose programs are missing, and nothing else.
func (c *Cluster) Packages(ctx context.Context) error {
	missing := debian.MissingPackages()
	if len(missing) > 0 && os.Geteuid() != 0 {
		return fmt.Errorf("the packages %s are missing, and installing them needs root: run apt-get install %[1]s, or this with sudo -E", strings.Join(missing, " "))
	}
	tasks := installTasks()
	c.report.Expect(len(tasks))
	return c.perform(ctx, tasks)
}

// installTasks installs the Debian packages whose programs are missing.
func installTasks() []task {
	missing := debian.MissingPackages()
	if len(missing) == 0 {
		return nil
	}
	return []task{{"install " + strings.Join(missing, " "), func(ctx context.Context) error {
		if err := debian.Install(ctx, missing); err != nil {
			return err
		}
		if still := debian.MissingPackages(); len(still) > 0 {
			return fmt.Errorf("the packages %s are installed, but their programs are not where they are expected: see hack/cluster/README.md", strings.Join(still, " "))
		}
		return nil
	}}}
}

// buildTasks builds the tools that are missing.
func (c *Cluster) buildTasks(list []build.Tool) ([]task, error) {
	var tasks []task
	for _, tool := range list {
		missing, err := c.builder.Missing(tool)
		if err != nil {
			return nil, err
		}
		if missing {
			name := fmt.Sprintf("build %s (up to %s)", tool.Module, tool.Cold)
			tasks = append(tasks, task{name, func(ctx context.Context) error { return c.builder.Ensure(ctx, tool) }})
		}
	}
	return tasks, nil
}

// tools says where everything is, once it is there.
func (c *Cluster) tools() (tools, error) {
	var have tools
	for _, part := range []struct {
		tool build.Tool
		dir  *string
	}{
		{build.Kube, &have.kube}, {build.CoreDNS, &have.coredns}, {build.Pause, &have.pause},
		{build.OLM, &have.olm}, {build.OPM, &have.opm}, {build.OperatorSDK, &have.sdk},
	} {
		dir, err := c.builder.Dir(part.tool)
		if err != nil {
			return tools{}, err
		}
		*part.dir = dir
	}
	var err error
	if have.operands, err = c.memcachedPackages(); err != nil {
		return tools{}, err
	}
	have.webServer, err = debian.Packages(c.webServerPackages())
	return have, err
}

// Tool builds the tool that holds the named program, unless it is there, and returns the folder that the program is in. A
// few programs come out of a Debian package instead.
func (c *Cluster) Tool(ctx context.Context, program string) (string, error) {
	if programs, ok := debian.Packaged(program); ok {
		return c.packaged(ctx, programs)
	}
	tool, err := build.Find(program)
	if err != nil {
		return "", fmt.Errorf("%w, and from Debian %s", err, strings.Join(debian.PackagedNames(), ", "))
	}
	tasks, err := c.buildTasks([]build.Tool{tool})
	if err != nil {
		return "", err
	}
	c.report.Expect(len(tasks))
	if err := c.perform(ctx, tasks); err != nil {
		return "", err
	}
	return c.builder.Dir(tool)
}
